import { join } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { slowestFiles } from "./test/support/slowestFiles.ts";
import { everyFile, excluded, processFiles } from "./test/support/suites.ts";

// Workers, their threads and the processes that tests start run the same modules: compiled once, and kept for the next run.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/compiled");

/** Where all results go as JSON, for a program that adds them up. */
const { LATCHKEY_TEST_REPORT: outputFile } = process.env;
const json: [string, { outputFile: string }][] = outputFile === undefined ? [] : [["json", { outputFile }]];

const config: ViteUserConfig = defineConfig({
  test: {
    include: [everyFile],
    exclude: [...excluded, processFiles],
    setupFiles: ["test/support/oneProcess.ts"],
    globalSetup: ["test/support/wholeRun.ts"],
    reporters: ["default", slowestFiles, ...json],
    // Child processes, so that a test may crash, fill its heap or start a server without touching the others.
    pool: "forks",
    // The garbage of a call is short-lived, in tests as in the service (`npm start`): a larger young generation saves a fifth of the CPU time.
    execArgv: ["--max-semi-space-size=32"],
    // One process runs one file after the other: modules are loaded once for each worker, by Node itself, as the service is,
    // and without vitest's hooks in between, which only tests with mocked modules need.
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // More than there are cores, since many tests wait. Vitest starts with the files that took longest in the last run.
    maxWorkers: 6,
    // Machines that run this are slow and shared; a limit is there to end what hangs, it judges nothing.
    testTimeout: 300_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 90_000 } },
    retry: 0,
  },
});

export default config;
