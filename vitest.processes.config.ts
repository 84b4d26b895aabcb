import type { ViteUserConfig } from "vitest/config";
import { excluded, processFiles } from "./test/support/suites.ts";
import usual from "./vitest.config.ts";

/** The files that start processes which run beside the test: `npm run test:processes`. */
const config: ViteUserConfig = { ...usual, test: { ...usual.test, include: [processFiles], exclude: [...excluded] } };

export default config;
