import { aroundCounters } from "../../src/storage/decorators/aroundCounters.ts";
import type { CollectionName } from "../../src/storage/port/documents.ts";
import type { Store } from "../../src/storage/port/store.ts";

/** Runs around every operation on a collection: may do something first or afterwards, fail, or not run it at all. */
export type Intercept = <T>(
  operation: () => Promise<T>,
  what: { readonly collection: CollectionName; readonly name: string; readonly filter?: object; readonly limit?: number | undefined },
) => Promise<T>;

/** The same store, with a test in between. */
export const interceptStore = (store: Store, intercept: Intercept): Store => ({
  ...store,
  ...(store.counters && {
    counters: aroundCounters(store.counters, (_kind, name, operation) => intercept(operation, { collection: "counters", name })),
  }),
  collection: (collection) => {
    const inner = store.collection(collection);
    const around = <T>(name: string, operation: () => Promise<T>): Promise<T> => intercept(operation, { collection, name });
    return {
      findOne: (filter, options) => intercept(() => inner.findOne(filter, options), { collection, name: "findOne", filter }),
      find: (filter, options) => ({
        toArray: () => intercept(() => inner.find(filter, options).toArray(), { collection, name: "find", filter, limit: options?.limit }),
      }),
      findFields: (fields, filter, options) =>
        intercept(() => inner.findFields(fields, filter, options), { collection, name: "find", filter, limit: options?.limit }),
      insertOne: (document, options) => around("insertOne", () => inner.insertOne(document, options)),
      insertMany: (documents, options) => around("insertMany", () => inner.insertMany(documents, options)),
      updateOne: (filter, update, options) => around("updateOne", () => inner.updateOne(filter, update, options)),
      findOneAndUpdate: (filter, update, options) => around("findOneAndUpdate", () => inner.findOneAndUpdate(filter, update, options)),
      deleteOne: (filter, options) => around("deleteOne", () => inner.deleteOne(filter, options)),
      deleteMany: (filter, options) => around("deleteMany", () => inner.deleteMany(filter, options)),
      bulkWrite: (operations, options) => around("bulkWrite", () => inner.bulkWrite(operations, options)),
    };
  },
});
