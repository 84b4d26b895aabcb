import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const variablesOf = (file: string): ReadonlyMap<string, string> =>
  new Map(
    [...readFileSync(join(root, file), "utf8").matchAll(/^ +(--[\w-]+): ([^;]+);$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );

test("[console §1] the documentation has the colours and measures of the console, and no others", () => {
  const console = variablesOf("ui/src/styles/tokens.css");
  const documentation = variablesOf("docs/build/site/assets/docs.css");
  expect(documentation.size).toBeGreaterThan(10);
  expect([...documentation].filter(([name, value]) => console.get(name) !== value)).toEqual([]);
});

test("[console §1] its stylesheet asks for nothing", () => {
  expect(readFileSync(join(root, "docs/build/site/assets/docs.css"), "utf8")).not.toMatch(/url\(|@import|image-set/);
});
