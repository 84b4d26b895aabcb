import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const root = join(import.meta.dirname, "../..");
const texts = new Map<string, string>();

/** Reads a file once; its path is from the root of the repository. */
export const textOf = (file: string): string => {
  const text = texts.get(file) ?? readFileSync(join(root, file), "utf8");
  texts.set(file, text);
  return text;
};

/** Paths from the root of the files in test/ and bench/ that a file imports; types do not count. */
const importsOf = (file: string): string[] =>
  [...textOf(file).matchAll(/^(?:import|export) (?!type )[^"';]*?from "(?<path>\.{1,2}\/[^"]+)"/gm)]
    .map(({ groups }) => relative(root, join(root, dirname(file), groups?.path ?? "")))
    .filter((path) => /^(test|bench)\//.test(path));

/** Whether a file, or one that it imports, directly or through others, has a text that matches. */
export const reaches = (file: string, wanted: RegExp, seen: Set<string> = new Set()): boolean => {
  if (seen.has(file)) return false;
  seen.add(file);
  return wanted.test(textOf(file)) || importsOf(file).some((each) => reaches(each, wanted, seen));
};
