import { systemClock } from "../../../src/platform/base/clock.ts";
import { openEmbeddedStore } from "../../../src/platform/storage/embedded/openEmbeddedStore.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import type { StoreLog } from "../../../src/platform/storage/port/storeLog.ts";

/** Opens the store of a directory as a service does, for the time of `use`. */
export const withServerStore = async <T>(directory: string, use: (store: Store) => Promise<T>, log?: StoreLog): Promise<T> => {
  const store = openEmbeddedStore({ directory, clock: systemClock, mode: "server", ...(log && { log }) });
  try {
    await store.prepare();
    return await use(store);
  } finally {
    await store.close();
  }
};
