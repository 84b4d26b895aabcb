import { setTimeout as sleep } from "node:timers/promises";
import { StoreUnavailableError } from "../platform/storage/port/errors.ts";
import type { Store } from "../platform/storage/port/store.ts";
import type { Events } from "../platform/telemetry/events.ts";

const RETRY_AFTER_MS = 1_000;

/**
 * Prepares the store, again and again while it cannot be reached: in a cluster the database may come up later than
 * its service. Anything else (a newer schema, a directory in use) fails at once. `signal` ends the waiting. The log gets
 * one line for each reason, however long it lasts.
 */
export const prepareStore = async (store: Store, events: Pick<Events, "storeAway" | "storeBack">, signal: AbortSignal): Promise<void> => {
  for (let told: string | undefined; ; ) {
    try {
      await store.prepare(signal);
      if (told !== undefined) events.storeBack();
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      if (error.message !== told) events.storeAway(error);
      told = error.message;
    }
    await sleep(RETRY_AFTER_MS, undefined, { signal });
  }
};
