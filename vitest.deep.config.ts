import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ViteUserConfig } from "vitest/config";
import { everyFile, excluded } from "./test/support/suites.ts";
import usual from "./vitest.config.ts";

process.env.LATCHKEY_TEST_SIZE = "deep";

const read = (file: string): string => readFileSync(file, "utf8");
const hasSizes = (text: string): boolean => /support\/(sized|everywhere)\.ts/.test(text);
/** Of a file of tests, what it shares with another one beside it. */
const shared = (file: string): string[] =>
  [...read(file).matchAll(/ from "\.\/(\w+\.ts)"/g)].map(([, name = ""]) => read(join(dirname(file), name)));

/** Only the files that have more than one size or edge: the others have shown all they can with `npm test` and `npm run test:processes`. */
const include = globSync(everyFile).filter((file) => [read(file), ...shared(file)].some(hasSizes));

const config: ViteUserConfig = { ...usual, test: { ...usual.test, include, exclude: [...excluded] } };

export default config;
