import type { Clock } from "../domain/clock.ts";
import { aroundCounters } from "../storage/decorators/aroundCounters.ts";
import type { Collection } from "../storage/port/collection.ts";
import type { CollectionName, Documents } from "../storage/port/documents.ts";
import { DuplicateKeyError, StoreOverloadedError, StoreUnavailableError } from "../storage/port/errors.ts";
import type { Store } from "../storage/port/store.ts";
import type { Metrics, StoreOutcome } from "./metrics.ts";

const outcomeOf = (error: unknown): StoreOutcome => {
  if (error instanceof DuplicateKeyError) return "duplicate_key";
  if (error instanceof StoreOverloadedError) return "overloaded";
  return error instanceof StoreUnavailableError ? "unavailable" : "error";
};

export interface MeterStoreOptions {
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "storeOperation">;
}

/**
 * The same store, with the duration and outcome of every operation in the metrics. An operation that hangs is counted
 * when it ends; that the store hangs is for `guardStore` to see.
 */
export const meterStore = (store: Store, { clock, metrics }: MeterStoreOptions): Store => {
  const measure = async <T>(collection: string, operation: string, run: () => Promise<T>): Promise<T> => {
    const startedAt = clock.monotonic();
    try {
      const result = await run();
      metrics.storeOperation(collection, operation, "ok", clock.monotonic() - startedAt);
      return result;
    } catch (error) {
      metrics.storeOperation(collection, operation, outcomeOf(error), clock.monotonic() - startedAt);
      throw error;
    }
  };

  const meterCollection = <N extends CollectionName>(name: N): Collection<Documents[N]> => {
    const inner = store.collection(name);
    return {
      findOne: (filter, options) => measure(name, "findOne", () => inner.findOne(filter, options)),
      find: (filter, options) => ({
        toArray: () => measure(name, "find", () => inner.find(filter, options).toArray()),
      }),
      findFields: (fields, filter, options) => measure(name, "find", () => inner.findFields(fields, filter, options)),
      insertOne: (document, options) => measure(name, "insertOne", () => inner.insertOne(document, options)),
      insertMany: (documents, options) => measure(name, "insertMany", () => inner.insertMany(documents, options)),
      updateOne: (filter, update, options) => measure(name, "updateOne", () => inner.updateOne(filter, update, options)),
      findOneAndUpdate: (filter, update, options) =>
        measure(name, "findOneAndUpdate", () => inner.findOneAndUpdate(filter, update, options)),
      deleteOne: (filter, options) => measure(name, "deleteOne", () => inner.deleteOne(filter, options)),
      deleteMany: (filter, options) => measure(name, "deleteMany", () => inner.deleteMany(filter, options)),
      bulkWrite: (operations, options) => measure(name, "bulkWrite", () => inner.bulkWrite(operations, options)),
    };
  };

  return {
    engine: store.engine,
    clock: store.clock,
    ...(store.places !== undefined && { places: store.places }),
    ...(store.isInProcess && { isInProcess: true }),
    ...(store.progress && { progress: store.progress.bind(store) }),
    collection: meterCollection,
    ...(store.counters && {
      counters: aroundCounters(store.counters, (_kind, name, operation) => measure("counters", name, operation)),
    }),
    prepare: (signal) => measure("system", "prepare", () => store.prepare(signal)),
    ping: (signal) => measure("system", "ping", () => store.ping(signal)),
    close: () => store.close(),
  };
};
