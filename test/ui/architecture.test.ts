import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const sources = new Map(globSync("ui/src/**/*.{ts,tsx}", { cwd: root }).map((file) => [file, readFileSync(join(root, file), "utf8")]));
const files = [...sources.keys()];

/** Pure rules of the service that the pages apply as well, so that both agree. */
const rules = [
  "src/features/analytics/sql/queryFunctions.ts",
  "src/features/console/pageAddress.ts",
  "src/features/keys/refill.ts",
  "src/features/permissions/permissionQuery.ts",
  "src/features/ratelimit/overridePattern.ts",
  "src/features/rootKeys/rootKeyTemplates.ts",
  "src/platform/storage/counters/slidingWindow.ts",
];

/** Which layers the files of a layer may import, beside their own (ARCHITECTURE.md, "The import rule"). */
const allowed: Readonly<Record<string, readonly string[]>> = {
  main: ["shell", "design", "router", "data"],
  shell: ["design", "router", "data"],
  pages: ["design", "router", "data", "gen", "rules"],
  design: ["router", "data", "gen"],
  router: ["data"],
  data: ["gen", "rules"],
};

/** The layer of a file; a page is a layer of its own, so that no page imports another. */
const layerOf = (file: string): string => {
  if (file.startsWith("gen/")) return "gen";
  if (file.startsWith("src/")) return rules.includes(file) || /^src\/platform\/(base|authorization)\//.test(file) ? "rules" : "src";
  const [, , layer = "", page = ""] = file.split("/");
  if (/\.tsx?$/.test(layer)) return "main";
  return layer === "pages" ? `pages/${page}` : layer;
};

const importsOf = (file: string): string[] =>
  [...(sources.get(file) ?? "").matchAll(/(?:\bfrom |\bimport |\bimport\()"(?<path>\.{1,2}\/[^"]+\.tsx?)"/g)].map(({ groups }) =>
    relative(root, join(root, dirname(file), groups?.path ?? "")),
  );

test("[console §4] imports of the console go one way", () => {
  const offences = files.flatMap((file) => {
    const layer = layerOf(file);
    return importsOf(file)
      .filter((target) => layerOf(target) !== layer && !allowed[layer.split("/")[0] ?? ""]?.includes(layerOf(target)))
      .map((target) => `${file} → ${target}`);
  });
  expect(offences).toEqual([]);
  expect(files.flatMap(importsOf).length).toBeGreaterThan(files.length);
});

test("no file of the console imports itself through others", () => {
  const finished = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" → "));
    if (finished.has(file) || path.includes(file)) return;
    for (const target of importsOf(file)) visit(target, [...path, file]);
    finished.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

test("files and folders of the console have the measures of all others", () => {
  expect([...sources].filter(([, text]) => text.split("\n").length > 301).map(([file]) => file)).toEqual([]);
  const folders = new Set(files.map(dirname));
  expect([...folders].filter((folder) => files.filter((file) => dirname(file) === folder).length > 20)).toEqual([]);
  const nameOf = (file: string): string => file.replace(/\.tsx?$/, "");
  expect(files.filter((file) => folders.has(nameOf(file)) || basename(nameOf(file)) === basename(dirname(file)))).toEqual([]);
});

test("[console §2.6] nothing writes HTML, styles as text, or code: Trusted Types refuse it", () => {
  const forbidden = /dangerouslySetInnerHTML|\.(inner|outer)HTML\b|insertAdjacentHTML|\beval\(|new Function\(|\bstyle="|document\.write/;
  expect([...sources].filter(([, text]) => forbidden.test(text)).map(([file]) => file)).toEqual([]);
});

test("[console §2.9] the browser's storage holds theme and column choices, in one place", () => {
  const storage = /\b(localStorage|sessionStorage|indexedDB|caches|document\.cookie)\b/;
  expect([...sources].filter(([, text]) => storage.test(text)).map(([file]) => file)).toEqual(["ui/src/data/stored.ts"]);
});
