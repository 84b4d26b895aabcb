import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { onEveryEngine } from "./onEveryEngine.ts";

/** Where a command or a service keeps its state: the settings that say so. */
export interface Place {
  readonly name: "embedded" | "mongo";
  /** Settings of a new, empty place. */
  readonly open: () => Promise<Record<string, string>>;
  readonly close: (env: Readonly<Record<string, string>>) => Promise<void>;
}

const embedded: Place = {
  name: "embedded",
  open: async () => ({ DATA_DIR: await mkdtemp(join(tmpdir(), "latchkey-cli-")) }),
  close: (env) => rm(env.DATA_DIR ?? "", { recursive: true, force: true }),
};

const mongo = (server: string): Place => ({
  name: "mongo",
  open: async () => ({ MONGODB_URL: freshMongoUrl(server) }),
  close: (env) => dropMongoDatabase(env.MONGODB_URL ?? ""),
});

/** One for each engine that can run here, for suites of the command line. */
export const places: readonly Place[] = onEveryEngine(embedded, mongo);
