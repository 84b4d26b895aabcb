import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const dist = join(import.meta.dirname, "../../ui/dist");

interface Part {
  readonly file: string;
  readonly css?: readonly string[];
  readonly imports?: readonly string[];
}

const manifest = JSON.parse(readFileSync(join(dist, "manifest.json"), "utf8")) as Readonly<Record<string, Part>>;

/** The files of parts, with all that they import at once. */
const filesOf = (names: readonly string[]): ReadonlySet<string> => {
  const seen = new Set<string>();
  const files = new Set<string>();
  const visit = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    const part = manifest[name];
    if (part === undefined) throw new Error(`ui/dist/manifest.json has no ${name}`);
    for (const file of [part.file, ...(part.css ?? [])]) files.add(file);
    for (const other of part.imports ?? []) visit(other);
  };
  for (const name of names) visit(name);
  return files;
};

/** Bytes of gzip, JS and CSS. */
const sizeOf = (...names: readonly string[]): number =>
  [...filesOf(["index.html", ...names])].reduce((sum, file) => sum + gzipSync(readFileSync(join(dist, file)), { level: 9 }).length, 0);

const signIn = 102_400;
const shell = "src/shell/Shell.tsx";

test("[console §1] the sign-in page is at most 102,400 bytes", () => {
  expect(sizeOf("src/pages/signIn/SignInPage.tsx")).toBeLessThanOrEqual(signIn);
});

test("[console §1] a page with charts is at most 25,600 bytes more", () => {
  expect(sizeOf(shell, "src/pages/apiDetail/ApiDetailPage.tsx", "src/design/charts/Chart.tsx")).toBeLessThanOrEqual(signIn + 25_600);
});

const sqlPage = "src/pages/sql/SqlPage.tsx";
const codeEditor = "src/pages/sql/codeEditor.ts";

test("[console §1] the SQL page is at most 133,120 bytes more, and no other page loads its editor", () => {
  expect(sizeOf(shell, sqlPage, codeEditor)).toBeLessThanOrEqual(signIn + 133_120);
  const editor = manifest[codeEditor]?.file ?? "";
  const others = Object.keys(manifest).filter((name) => name.startsWith("src/pages/") && name !== codeEditor);
  expect(others.filter((name) => filesOf([name]).has(editor))).toEqual([]);
});

test("[console §1] the sign-in page loads neither the shell nor charts", () => {
  const files = [...filesOf(["index.html", "src/pages/signIn/SignInPage.tsx"])];
  expect(files).not.toContain(manifest[shell]?.file);
  expect(files).not.toContain(manifest["src/design/charts/Chart.tsx"]?.file);
});

test("[console §2.6] the page has no script and no style of its own", () => {
  const html = readFileSync(join(dist, "index.html"), "utf8");
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*\ssrc=)|\son\w+=/);
});
