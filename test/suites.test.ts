import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { everyFile, processFiles, sameOnEveryEngine } from "./support/suites.ts";

const root = join(import.meta.dirname, "..");
const find = (pattern: string): string[] => globSync(pattern, { cwd: root });
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** Paths from the root of what a file of the tests, or of what they share with benchmarks, takes from others of them; types apart. */
const importsOf = (file: string): string[] =>
  [...read(file).matchAll(/^(?:import|export) (?!type )[^"';]*?from "(?<path>\.{1,2}\/[^"]+)"/gm)]
    .map(({ groups }) => relative(root, join(root, dirname(file), groups?.path ?? "")))
    .filter((path) => /^(test|bench)\//.test(path));

const startsProcesses = (file: string): boolean =>
  /"node:child_process"|createEngineProcess\(|\bembeddedAnalytics = |\bstartNode = /.test(read(file));

const reaches = (file: string, wanted: (file: string) => boolean, seen = new Set<string>()): boolean => {
  if (seen.has(file)) return false;
  seen.add(file);
  return wanted(file) || importsOf(file).some((each) => reaches(each, wanted, seen));
};

test("a file whose name says that it starts processes has something to start them with", () => {
  const files = find(processFiles);
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => !reaches(file, startsProcesses))).toEqual([]);
});

test("whatever a run on MongoDB alone leaves out is there", () => {
  /** `a{b,c}` as `ab` and `ac`. */
  const opened = (pattern: string): string[] => {
    const [, before, choices, after] = /^(.*?)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
    return choices === undefined ? [pattern] : choices.split(",").flatMap((choice) => opened(`${before}${choice}${after}`));
  };
  const tests = new Set(find(everyFile));
  const patterns = sameOnEveryEngine.flatMap(opened);
  expect(patterns.length).toBeGreaterThan(sameOnEveryEngine.length);
  expect(patterns.filter((pattern) => !find(pattern).some((file) => tests.has(file)))).toEqual([]);
});
