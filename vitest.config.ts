import { join } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { CampaignsFirst } from "./test/support/campaignsFirst.ts";
import { dearestFiles } from "./test/support/dearestFiles.ts";
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
    reporters: ["default", dearestFiles, ...json],
    // Child processes, so that a test may crash, fill its heap or start a server without touching the others.
    pool: "forks",
    // What a call leaves behind dies young, in tests as in the service (`npm start`): with room for it they need a fifth less CPU time.
    execArgv: ["--max-semi-space-size=32"],
    // One process runs one file after the other: modules are loaded once for each worker, by Node itself, as the service is,
    // and without vitest's hooks in between, which only tests with mocked modules need.
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // More than there are cores, since many tests wait for something.
    maxWorkers: 6,
    sequence: { sequencer: CampaignsFirst },
    // Machines that run this are slow and shared; a limit is there to end what hangs, it judges nothing.
    testTimeout: 300_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 90_000 } },
    retry: 0,
  },
});

export default config;
