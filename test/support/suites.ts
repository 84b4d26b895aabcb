import { globSync } from "node:fs";
import { join } from "node:path";
import { reaches, textOf } from "./imports.ts";

const root = join(import.meta.dirname, "../..");

export const everyFile = "test/**/*.test.ts";

/**
 * Files that start processes which run next to the test (the service, workers, the analytics engine, shells, clients in other languages):
 * `npm run test:processes`. All others are `npm test`.
 */
export const processFiles = "test/**/*.process.test.ts";

/** A line in a file that uses a store but whose tests look the same on every engine: running it on MongoDB as well shows nothing new. */
export const sameOnEveryEngine: RegExp = /^\/\/ @same-on-every-engine$/m;

/** Lists the files that a run on MongoDB alone leaves out: those with that line, and those that never read the URL of a server. */
export const leftOutOnMongo = (): string[] =>
  globSync(everyFile, { cwd: root }).filter((file) => sameOnEveryEngine.test(textOf(file)) || !reaches(file, /\bMONGODB_URL\b/));

/** Files that none of these runs takes. Browser tests are a run of their own: vitest.browser.config.ts. */
export const excluded: readonly string[] = [
  ...["**/node_modules/**", "test/browser/**"],
  ...(process.env.LATCHKEY_TEST_ENGINE === "mongo" ? leftOutOnMongo() : []),
];
