import { globSync, readFileSync } from "node:fs";
import type { ViteUserConfig } from "vitest/config";
import usual from "./vitest.config.ts";

process.env.LATCHKEY_TEST_SIZE = "deep";

/** Only the files that have more than one size or edge: the others have shown all they can with `npm test`. */
const include = globSync("test/**/*.test.ts").filter((file) => /support\/(sized|everywhere)\.ts/.test(readFileSync(file, "utf8")));

const config: ViteUserConfig = { ...usual, test: { ...usual.test, include } };

export default config;
