import type { Clock } from "../domain/clock.ts";
import { openEmbeddedStore } from "./embedded/openEmbeddedStore.ts";
import type { StoreLog } from "./log.ts";
import { openMongoStore } from "./mongo.ts";
import type { Store } from "./store.ts";

export interface OpenStoreOptions {
  /** Absent = the embedded store in `dataDir`. */
  readonly mongodbUrl: string | undefined;
  readonly dataDir: string;
  readonly clock: Clock;
  /** See `EmbeddedStoreOptions`; means nothing to MongoDB. */
  readonly mode: "server" | "tool";
  readonly log?: StoreLog;
}

/** The engine that the configuration names. Nothing is opened or connected before `prepare`. */
export const openStore = ({ mongodbUrl, dataDir, clock, mode, log }: OpenStoreOptions): Store =>
  mongodbUrl === undefined
    ? openEmbeddedStore({ directory: dataDir, clock, mode, ...(log && { log }) })
    : openMongoStore({ url: mongodbUrl, ...(log && { log }) });
