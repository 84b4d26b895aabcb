import type { Clock } from "../domain/clock.ts";
import type { Collection } from "../storage/collection.ts";
import type { CollectionName, Documents } from "../storage/documents.ts";
import { DuplicateKeyError, StoreUnavailableError } from "../storage/errors.ts";
import type { Store } from "../storage/store.ts";
import type { Events } from "./events.ts";
import type { Metrics, StoreOutcome } from "./metrics.ts";

const outcomeOf = (error: unknown): StoreOutcome => {
  if (error instanceof DuplicateKeyError) return "duplicate_key";
  return error instanceof StoreUnavailableError ? "unavailable" : "error";
};

export interface MeterStoreOptions {
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "storeOperation" | "storeState">;
  readonly events: Pick<Events, "storeAway" | "storeBack">;
}

/**
 * The same store, with the duration and outcome of every operation in the metrics, and one log line when it goes away
 * and one when it is back. An operation that its own signal ended says nothing about the store.
 */
export const meterStore = (store: Store, { clock, metrics, events }: MeterStoreOptions): Store => {
  let up: boolean | undefined;

  const observeState = (isUp: boolean, error?: unknown): void => {
    if (isUp === up) return;
    const before = up;
    up = isUp;
    metrics.storeState(isUp);
    if (!isUp) events.storeAway(error);
    else if (before === false) events.storeBack();
  };

  const measure = async <T>(collection: string, operation: string, signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> => {
    const startedAt = clock.monotonic();
    try {
      const result = await run();
      metrics.storeOperation(collection, operation, "ok", clock.monotonic() - startedAt);
      observeState(true);
      return result;
    } catch (error) {
      const outcome = outcomeOf(error);
      metrics.storeOperation(collection, operation, outcome, clock.monotonic() - startedAt);
      if (outcome === "duplicate_key") observeState(true);
      if (outcome === "unavailable" && signal?.aborted !== true) observeState(false, error);
      throw error;
    }
  };

  const meterCollection = <N extends CollectionName>(name: N): Collection<Documents[N]> => {
    const inner = store.collection(name);
    return {
      findOne: (filter, options) => measure(name, "findOne", options?.signal, () => inner.findOne(filter, options)),
      find: (filter, options) => ({
        toArray: () => measure(name, "find", options?.signal, () => inner.find(filter, options).toArray()),
      }),
      insertOne: (document, options) => measure(name, "insertOne", options?.signal, () => inner.insertOne(document, options)),
      insertMany: (documents, options) => measure(name, "insertMany", options?.signal, () => inner.insertMany(documents, options)),
      updateOne: (filter, update, options) => measure(name, "updateOne", options?.signal, () => inner.updateOne(filter, update, options)),
      findOneAndUpdate: (filter, update, options) =>
        measure(name, "findOneAndUpdate", options.signal, () => inner.findOneAndUpdate(filter, update, options)),
      deleteOne: (filter, options) => measure(name, "deleteOne", options?.signal, () => inner.deleteOne(filter, options)),
      deleteMany: (filter, options) => measure(name, "deleteMany", options?.signal, () => inner.deleteMany(filter, options)),
      bulkWrite: (operations, options) => measure(name, "bulkWrite", options?.signal, () => inner.bulkWrite(operations, options)),
    };
  };

  return {
    engine: store.engine,
    collection: meterCollection,
    prepare: (signal) => measure("system", "prepare", signal, () => store.prepare(signal)),
    ping: (signal) => measure("system", "ping", signal, () => store.ping(signal)),
    close: () => store.close(),
  };
};
