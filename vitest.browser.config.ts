import { defineConfig, type ViteUserConfig } from "vitest/config";

/** Where all results go as JSON, for a program that adds them up. */
const { LATCHKEY_TEST_REPORT: outputFile } = process.env;
const json: [string, { outputFile: string }][] = outputFile === undefined ? [] : [["json", { outputFile }]];

/** The console in a real browser, against the real service: `npm run test:browser`. */
const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/browser/**/*.test.ts"],
    reporters: ["default", ...json],
    // As in vitest.config.ts: Node itself loads the modules, each worker once.
    pool: "forks",
    isolate: false,
    experimental: { viteModuleRunner: false },
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    retry: 0,
  },
});

export default config;
