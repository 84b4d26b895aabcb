import { setTimeout as sleep } from "node:timers/promises";
import { StoreUnavailableError } from "../../platform/storage/port/errors.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { StoreNotMigratedError } from "../../platform/storage/schemaVersion.ts";

/**
 * Does work on a store, again where that was away or took too long. `isRepeated`: what an attempt before this one wrote may be there, in
 * part as well. Rejects as the last attempt did.
 */
export type Patiently = <T>(work: (isRepeated: boolean) => Promise<T>) => Promise<T>;

/** One attempt. */
export const once: Patiently = (work) => work(false);

/** Before each further attempt, in seconds: five minutes in all, in which a server has been restarted, or another has taken its place. */
const PAUSES = [1, 2, 5, 10, 20, 30, 30, 30, 30, 30, 30, 30, 30, 30];

export interface PatientlyOptions {
  /** Hears why a pause is made, and how many seconds it has. */
  readonly onPause: (error: StoreUnavailableError, seconds: number) => void;
  readonly wait?: (milliseconds: number) => Promise<unknown>;
}

/** Attempts until the store has been away for five minutes; each piece of work has as many. */
export const createPatiently =
  (store: Pick<Store, "ping">, { onPause, wait = sleep }: PatientlyOptions): Patiently =>
  async (work) => {
    for (let attempt = 0; ; attempt++) {
      try {
        // Connects again, too, where the driver does not by itself.
        if (attempt > 0) await store.ping();
        return await work(attempt > 0);
      } catch (error) {
        const pause = PAUSES[attempt];
        if (pause === undefined || !(error instanceof StoreUnavailableError) || error instanceof StoreNotMigratedError) throw error;
        onPause(error, pause);
        await wait(pause * 1_000);
      }
    }
  };
