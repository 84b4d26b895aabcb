import type { ViteUserConfig } from "vitest/config";
import usual from "./vitest.config.ts";

/** What people come for, on the other engine: the pages ask the same procedures, which the suite runs on both. */
const stories =
  /from the first start to the first verified key|in all three states of every nullable field|created with scoped permissions, used, shrunk|an entry is found by its filters|signing out ends the session/;

/**
 * The console in a real browser, against the real service: `npm run test:browser`. `LATCHKEY_TEST_ENGINE=mongo` with `MONGODB_URL` runs the
 * stories on MongoDB.
 */
const config: ViteUserConfig = {
  ...usual,
  test: {
    ...usual.test,
    include: ["test/browser/**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    setupFiles: [],
    // Half of their time they wait for the pages.
    maxWorkers: 3,
    ...(process.env.LATCHKEY_TEST_ENGINE === "mongo" ? { testNamePattern: stories } : {}),
  },
};

export default config;
