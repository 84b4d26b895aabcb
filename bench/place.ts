import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import type { Store } from "../src/platform/storage/port/store.ts";
import { withStoreOf } from "./harness/placed.ts";
import { type InsertMany, insertIntoFile } from "./insertIntoFile.ts";

/** Where a benchmark keeps its state: a directory, or a database of its own. */
export interface Place {
  readonly engine: "embedded" | "mongo";
  /** The setting that tells a service of it. */
  readonly env: Readonly<Record<string, string>>;
  /** Opens the store there for the time of `use`, also beside a service. */
  readonly withStore: <T>(use: (store: Store) => Promise<T>) => Promise<T>;
  /** Adds documents by the million, while nobody has the store open. */
  readonly fill: <T>(use: (insert: InsertMany) => Promise<T>) => Promise<T>;
  readonly remove: () => Promise<void>;
}

/** @param server the URL of a MongoDB server; the embedded store when undefined. */
export const createPlace = (server: string | undefined): Place => {
  const dataDir = mkdtempSync(join(tmpdir(), "latchkey-bench-data-"));
  const url = server === undefined ? undefined : new URL(server);
  if (url) url.pathname = `/latchkey_bench_${randomBytes(6).toString("hex")}`;
  const mongodbUrl = url?.href;
  const env = { DATA_DIR: dataDir, ...(mongodbUrl === undefined ? {} : { MONGODB_URL: mongodbUrl }) };
  return {
    engine: mongodbUrl === undefined ? "embedded" : "mongo",
    env,
    withStore: (use) => withStoreOf(env, use),
    fill: (use) =>
      mongodbUrl === undefined
        ? insertIntoFile(dataDir, use)
        : withStoreOf(env, (store) =>
            use(async (collection, documents) => {
              await store.collection(collection).insertMany(documents);
            }),
          ),
    remove: async () => {
      rmSync(dataDir, { recursive: true });
      if (mongodbUrl === undefined) return;
      const client = new MongoClient(mongodbUrl);
      await client.db().dropDatabase();
      await client.close();
    },
  };
};
