import type { ViteUserConfig } from "vitest/config";
import usual from "./vitest.config.ts";

/**
 * The console in a real browser, against the real service: `npm run test:browser`. `LATCHKEY_TEST_ENGINE=mongo` with `MONGODB_URL` runs only
 * the tests tagged `story`, on MongoDB: the other pages call procedures that the main suite runs on both engines.
 */
const config: ViteUserConfig = {
  ...usual,
  test: {
    ...usual.test,
    include: ["test/browser/**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    setupFiles: [],
    tags: [{ name: "story", description: "One of the tasks that people open the console for." }],
    // The tests wait for pages half of the time.
    maxWorkers: 3,
    ...(process.env.LATCHKEY_TEST_ENGINE === "mongo" ? { tagsFilter: ["story"] } : {}),
  },
};

export default config;
