import { join } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";

// As in vitest.config.ts: services and workers run the same modules, compiled once.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/compiled");

/** Where all results go as JSON, for a program that adds them up. */
const { LATCHKEY_TEST_REPORT: outputFile } = process.env;
const json: [string, { outputFile: string }][] = outputFile === undefined ? [] : [["json", { outputFile }]];

/** What people come for, on the other engine: the pages ask the same procedures, which the suite runs on both. */
const stories =
  /from the first start to the first verified key|in all three states of every nullable field|created with scoped permissions, used, shrunk|an entry is found by its filters|signing out ends the session/;

/**
 * The console in a real browser, against the real service: `npm run test:browser`. `LATCHKEY_TEST_ENGINE=mongo` with `MONGODB_URL` runs the
 * stories on MongoDB.
 */
const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["test/support/wholeRun.ts"],
    reporters: ["default", ...json],
    // As in vitest.config.ts: Node itself loads the modules, each worker once.
    pool: "forks",
    execArgv: ["--max-semi-space-size=32"],
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Half of their time they wait for the pages.
    maxWorkers: 3,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    retry: 0,
    ...(process.env.LATCHKEY_TEST_ENGINE === "mongo" ? { testNamePattern: stories } : {}),
  },
});

export default config;
