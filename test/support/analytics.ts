import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestEnvironment } from "./api.ts";

/** Settings of a service with the embedded analytics engine, in a directory of its own that `remove` removes. */
export const embeddedAnalytics = (): { readonly env: TestEnvironment; readonly directory: string; readonly remove: () => void } => {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-analytics-"));
  return {
    env: { ANALYTICS: "embedded", ANALYTICS_MEMORY: "512MiB", DATA_DIR: directory },
    directory,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
};
