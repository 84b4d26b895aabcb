import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ViteUserConfig } from "vitest/config";
import { everyFile, excluded } from "./test/support/suites.ts";
import usual from "./vitest.config.ts";

process.env.LATCHKEY_TEST_SIZE = "deep";

const read = (file: string): string => readFileSync(file, "utf8");
const hasSizes = (text: string): boolean => /support\/(sized|everywhere)\.ts/.test(text);
/** Texts of the files in the same folder that a test file imports. */
const shared = (file: string): string[] =>
  [...read(file).matchAll(/ from "\.\/(\w+\.ts)"/g)].map(([, name = ""]) => read(join(dirname(file), name)));

/** Only the files with more than one size or edge: for the others the deep run is the same as `npm test` and `npm run test:processes`. */
const include = globSync(everyFile).filter((file) => [read(file), ...shared(file)].some(hasSizes));

const config: ViteUserConfig = { ...usual, test: { ...usual.test, include, exclude: [...excluded] } };

export default config;
