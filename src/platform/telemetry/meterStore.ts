import type { Clock } from "../base/clock.ts";
import { aroundCounters } from "../storage/decorators/aroundCounters.ts";
import { aroundStore } from "../storage/decorators/aroundStore.ts";
import type { Counters } from "../storage/port/counters.ts";
import { DuplicateKeyError, StoreOverloadedError, StoreUnavailableError } from "../storage/port/errors.ts";
import type { Store } from "../storage/port/store.ts";
import type { StoreMetrics, StoreOperationKind, StoreOutcome } from "./storeMetrics.ts";

const outcomeOf = (error: unknown): StoreOutcome => {
  if (error instanceof DuplicateKeyError) return "duplicate_key";
  if (error instanceof StoreOverloadedError) return "overloaded";
  return error instanceof StoreUnavailableError ? "unavailable" : "error";
};

export interface MeterStoreOptions {
  readonly clock: Clock;
  readonly metrics: Pick<StoreMetrics, "storeOperation">;
}

type Measure = <T>(collection: string, operation: string, kind: StoreOperationKind, run: () => Promise<T>) => Promise<T>;

const measuring =
  ({ clock, metrics }: MeterStoreOptions): Measure =>
  async (collection, operation, kind, run) => {
    const startedAt = clock.monotonic();
    try {
      const result = await run();
      metrics.storeOperation(collection, operation, kind, "ok", clock.monotonic() - startedAt);
      return result;
    } catch (error) {
      metrics.storeOperation(collection, operation, kind, outcomeOf(error), clock.monotonic() - startedAt);
      throw error;
    }
  };

/**
 * The same store, with the duration and outcome of every operation in the metrics. An operation that hangs is counted
 * when it ends; that the store hangs is for `guardStore` to see.
 */
export const meterStore = (store: Store, options: MeterStoreOptions): Store => {
  const measure = measuring(options);
  return {
    ...store,
    ...aroundStore(store, ({ collection, name, kind }, run) =>
      measure(collection, name, collection === "counters" ? "counter" : kind, run),
    ),
    prepare: (signal) => measure("system", "prepare", "system", () => store.prepare(signal)),
    ping: (signal) => measure("system", "ping", "system", () => store.ping(signal)),
  };
};

/** The same for counters that are kept elsewhere than the store. */
export const meterCounters = (counters: Counters, options: MeterStoreOptions): Counters => {
  const measure = measuring(options);
  return aroundCounters(counters, ({ collection, name }, run) => measure(collection, name, "counter", run));
};
