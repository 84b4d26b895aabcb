import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/announce.ts"],
    // Child processes, so that a test may crash, fill its heap or start a server without touching the others.
    pool: "forks",
    maxWorkers: 2,
    // Machines that run this are slow and shared; a limit is there to end what hangs, it judges nothing.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    retry: 0,
  },
});

export default config;
