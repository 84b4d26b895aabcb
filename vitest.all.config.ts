import type { ViteUserConfig } from "vitest/config";
import { excluded } from "./test/support/suites.ts";
import usual from "./vitest.config.ts";

/** `npm test` and `npm run test:processes` as one: workers start and load modules once. */
const config: ViteUserConfig = { ...usual, test: { ...usual.test, exclude: [...excluded] } };

export default config;
