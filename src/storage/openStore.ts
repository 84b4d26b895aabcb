import type { Clock } from "../domain/clock.ts";
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

/**
 * The engine that the configuration names; the other one is not even loaded, it would cost memory and start-up time.
 * Nothing is opened or connected before `prepare`.
 */
export const openStore = async ({
  mongodbUrl,
  dataDir,
  clock,
  mode,
  limitsFor,
  migrates = true,
  log,
}: OpenStoreOptions): Promise<Store> => {
  if (mongodbUrl === undefined) {
    const { openEmbeddedStore } = await import("./embedded/openEmbeddedStore.ts");
    return openEmbeddedStore({ directory: dataDir, clock, mode, ...(log && { log }) });
  }
  const { openMongoStore } = await import("./mongo/openMongoStore.ts");
  return openMongoStore({
    url: mongodbUrl,
    clock,
    mode,
    migrates,
    ...(limitsFor && { limitsFor }),
    ...(log && { log }),
  });
};
