import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { reaches, textOf } from "./support/imports.ts";
import { everyFile, leftOutOnMongo, processFiles, sameOnEveryEngine } from "./support/suites.ts";

const root = join(import.meta.dirname, "..");
const find = (pattern: string): string[] => globSync(pattern, { cwd: root });

test("a file whose name says that it starts processes has something to start them with", () => {
  const files = find(processFiles);
  expect(files.length).toBeGreaterThan(50);
  const starts = /"node:child_process"|createEngineProcess\(|\bembeddedAnalytics = |\bstartNode = /;
  expect(files.filter((file) => !reaches(file, starts))).toEqual([]);
});

test("a run on MongoDB alone takes every file that may open a store there, except those that say that they look the same", () => {
  const leftOut = leftOutOnMongo();
  expect(leftOut).toEqual(expect.arrayContaining(["test/domain/refill.test.ts", "test/api/console/page.test.ts"]));
  const taken = find(everyFile).filter((file) => !leftOut.includes(file));
  expect(taken).toEqual(expect.arrayContaining(["test/storage/mongo.test.ts", "test/api/keys/createKey.test.ts"]));
  expect(taken.length).toBeGreaterThan(100);
});

test("a file that says that it looks the same on every engine could run on another one", () => {
  const marked = find(everyFile).filter((file) => sameOnEveryEngine.test(textOf(file)));
  expect(marked.filter((file) => !reaches(file, /\bMONGODB_URL\b/))).toEqual([]);
});
