import { aroundCounters } from "../../src/storage/decorators/aroundCounters.ts";
import { StoreUnavailableError } from "../../src/storage/port/errors.ts";
import type { Store } from "../../src/storage/port/store.ts";

export interface FaultyStore extends Store {
  /** `fails`: operations reject as unavailable, `hangs`: they do not answer before the store is well again. */
  behave(mode: "well" | "fails" | "hangs", which?: "all" | "reads"): void;
  /** How many operations and pings have reached the store so far. */
  readonly calls: () => number;
}

/** A store that a test can make unavailable: a decorator of a real one. */
export const faultyStore = (store: Store): FaultyStore => {
  let mode: "well" | "fails" | "hangs" = "well";
  let readsOnly = false;
  let calls = 0;
  let well = Promise.withResolvers<void>();

  const disturbed = async <T>(operation: () => Promise<T>, isRead = false): Promise<T> => {
    calls++;
    if (readsOnly && !isRead) return operation();
    if (mode === "fails") throw new StoreUnavailableError("the store was told to fail", { outcomeUnknown: true });
    if (mode === "hangs") await well.promise;
    return operation();
  };

  return {
    ...store,
    ...(store.counters && {
      counters: aroundCounters(
        store.counters,
        (kind, _name, operation) => disturbed(operation, kind === "read"),
        () => {
          calls++;
          if (mode === "fails") throw new StoreUnavailableError("the store was told to fail", { outcomeUnknown: true });
        },
      ),
    }),
    collection: (name) => {
      const inner = store.collection(name);
      return {
        findOne: (filter, options) => disturbed(() => inner.findOne(filter, options), true),
        find: (filter, options) => ({ toArray: () => disturbed(() => inner.find(filter, options).toArray(), true) }),
        findFields: (fields, filter, options) => disturbed(() => inner.findFields(fields, filter, options), true),
        insertOne: (document, options) => disturbed(() => inner.insertOne(document, options)),
        insertMany: (documents, options) => disturbed(() => inner.insertMany(documents, options)),
        updateOne: (filter, update, options) => disturbed(() => inner.updateOne(filter, update, options)),
        findOneAndUpdate: (filter, update, options) => disturbed(() => inner.findOneAndUpdate(filter, update, options)),
        deleteOne: (filter, options) => disturbed(() => inner.deleteOne(filter, options)),
        deleteMany: (filter, options) => disturbed(() => inner.deleteMany(filter, options)),
        bulkWrite: (operations, options) => disturbed(() => inner.bulkWrite(operations, options)),
      };
    },
    ...(store.progress && { progress: () => disturbed(async () => store.progress?.()) }),
    ping: (signal) => disturbed(() => store.ping(signal)),
    behave: (next, which = "all") => {
      mode = next;
      readsOnly = which === "reads";
      if (next === "hangs") return;
      well.resolve();
      well = Promise.withResolvers();
    },
    calls: () => calls,
  };
};
