import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const dist = join(import.meta.dirname, "../../ui/dist");

interface Part {
  readonly file: string;
  readonly css?: readonly string[];
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
}

const manifest = JSON.parse(readFileSync(join(dist, "manifest.json"), "utf8")) as Readonly<Record<string, Part>>;

/** Parts, with all that they import at once. */
const partsOf = (names: readonly string[]): readonly Part[] => {
  const seen = new Map<string, Part>();
  const visit = (name: string): void => {
    if (seen.has(name)) return;
    const part = manifest[name];
    if (part === undefined) throw new Error(`ui/dist/manifest.json has no ${name}`);
    seen.set(name, part);
    for (const other of part.imports ?? []) visit(other);
  };
  for (const name of names) visit(name);
  return [...seen.values()];
};

const filesOf = (names: readonly string[]): ReadonlySet<string> => new Set(partsOf(names).flatMap(({ file, css = [] }) => [file, ...css]));

/** Bytes of gzip, JS and CSS. */
const sizeOf = (...names: readonly string[]): number =>
  [...filesOf(["index.html", ...names])].reduce((sum, file) => sum + gzipSync(readFileSync(join(dist, file)), { level: 9 }).length, 0);

const signIn = 102_400;
const shell = "src/shell/Shell.tsx";

test("[console §1] the sign-in page is at most 102,400 bytes", () => {
  expect(sizeOf("src/pages/signIn/SignInPage.tsx")).toBeLessThanOrEqual(signIn);
});

const chart = "src/design/charts/Chart.tsx";

const sqlPage = "src/pages/sql/SqlPage.tsx";
const codeEditor = "src/pages/sql/codeEditor.ts";

const loadsChart = (name: string): boolean => partsOf([name]).some(({ dynamicImports = [] }) => dynamicImports.includes(chart));

/** Pages that show charts: at once, or in a tab that is a part of its own. */
const pagesWithCharts = Object.keys(manifest)
  .filter((name) => /^src\/pages\/.*Page\.tsx$/.test(name))
  .flatMap((page) => {
    const tabs = (manifest[page]?.dynamicImports ?? []).filter((name) => name !== codeEditor && name.startsWith(`${dirname(page)}/`));
    return [page, ...tabs].filter(loadsChart).map((part) => [page, part] as const);
  });

test("[console §1] pages with charts load them when they are needed", () => {
  const pages = pagesWithCharts.map(([page]) => page);
  expect(pages).toContain("src/pages/analytics/AnalyticsPage.tsx");
  expect(pages).toContain("src/pages/apiDetail/ApiDetailPage.tsx");
  expect(pages).toContain("src/pages/identityDetail/IdentityDetailPage.tsx");
  expect(pages).toContain("src/pages/keyDetail/KeyDetailPage.tsx");
});

test.each(pagesWithCharts)("[console §1] a page with charts is at most 25,600 bytes more: %s with %s", (page, part) => {
  expect(sizeOf(shell, page, part, chart)).toBeLessThanOrEqual(signIn + 25_600);
});

test("[console §1] the SQL page is at most 133,120 bytes more, and no other page loads its editor", () => {
  expect(sizeOf(shell, sqlPage, codeEditor)).toBeLessThanOrEqual(signIn + 133_120);
  const editor = manifest[codeEditor]?.file ?? "";
  const others = Object.keys(manifest).filter((name) => name.startsWith("src/pages/") && name !== codeEditor);
  expect(others.filter((name) => filesOf([name]).has(editor))).toEqual([]);
});

test("[console §1] the sign-in page loads neither the shell nor charts", () => {
  const files = [...filesOf(["index.html", "src/pages/signIn/SignInPage.tsx"])];
  expect(files).not.toContain(manifest[shell]?.file);
  expect(files).not.toContain(manifest[chart]?.file);
});

test("[console §2.6] the page has no script and no style of its own", () => {
  const html = readFileSync(join(dist, "index.html"), "utf8");
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*\ssrc=)|\son\w+=/);
});
