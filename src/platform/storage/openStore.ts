import type { Clock } from "../base/clock.ts";
import { openEmbeddedStore } from "./embedded/openEmbeddedStore.ts";
import type { MongoStoreOptions } from "./mongo/openMongoStore.ts";
import type { TimeLimitsFor } from "./mongo/timeLimits.ts";
import type { Store } from "./port/store.ts";
import type { StoreLog } from "./port/storeLog.ts";
import type { StoreMode } from "./port/storeMode.ts";

export interface OpenStoreOptions {
  /** Absent = the embedded store in `dataDir`. */
  readonly mongodbUrl: string | undefined;
  readonly dataDir: string;
  /** This machine's, or a test's. */
  readonly clock: Clock;
  readonly mode: StoreMode;
  /** See `MongoStoreOptions`: nothing in the embedded store takes as long. */
  readonly limitsFor?: TimeLimitsFor;
  /** See `MongoStoreOptions`: the embedded store is always brought up to date. */
  readonly migrates?: boolean;
  readonly log?: StoreLog;
}

/** MongoDB's driver is large, and is loaded only where a server is configured. */
export const openMongo = async (options: MongoStoreOptions): Promise<Store> => {
  const { openMongoStore } = await import("./mongo/openMongoStore.ts");
  return openMongoStore(options);
};

/** The engine that the configuration names. Nothing is opened or connected before `prepare`. */
export const openStore = async ({
  mongodbUrl,
  dataDir,
  clock,
  mode,
  limitsFor,
  migrates = true,
  log,
}: OpenStoreOptions): Promise<Store> => {
  if (mongodbUrl === undefined) return openEmbeddedStore({ directory: dataDir, clock, mode, ...(log && { log }) });
  return openMongo({
    url: mongodbUrl,
    clock,
    mode,
    migrates,
    ...(limitsFor && { limitsFor }),
    ...(log && { log }),
  });
};
