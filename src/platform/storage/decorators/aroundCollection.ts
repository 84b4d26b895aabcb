import type { Collection, FindOptions, Identified, OperationOptions } from "../port/collection.ts";
import type { Counters } from "../port/counters.ts";
import type { CollectionName } from "../port/documents.ts";

/** One of the operations on a collection, on the counters of rate limits, or on several collections at once. Made once for each collection, not for each call. */
export interface StoreOperation {
  readonly collection: CollectionName;
  /** The method's; that of `findFields` is `find`. */
  readonly name: Exclude<keyof Collection<Identified>, "findFields" | "vouch"> | Exclude<keyof Counters, "isShared"> | "collectionsWith";
  readonly kind: "read" | "write";
}

/**
 * Stands around an operation: may do something first or afterwards, fail, or not run it at all.
 * @param run what is inside. A find heeds the signal that it is given, in place of that of its options; nothing else does.
 * @param target of a collection: the filter; what is inserted; or, of `bulkWrite`, the list of operations.
 * @param update of `updateOne` and `findOneAndUpdate`.
 */
export type AroundOperation = <T>(
  operation: StoreOperation,
  run: (signal?: AbortSignal) => Promise<T>,
  options: OperationOptions | undefined,
  target?: object,
  update?: object,
) => Promise<T>;

const heeding = <D>(options: FindOptions<D> | undefined, signal: AbortSignal | undefined): FindOptions<D> | undefined =>
  signal === undefined ? options : { ...options, signal };

/** The same collection, with something around every operation. */
export const aroundCollection = <D extends Identified>(
  collection: CollectionName,
  inner: Collection<D>,
  around: AroundOperation,
): Collection<D> => {
  const read = (name: StoreOperation["name"]): StoreOperation => ({ collection, name, kind: "read" });
  const write = (name: StoreOperation["name"]): StoreOperation => ({ collection, name, kind: "write" });
  const [findOne, find] = [read("findOne"), read("find")];
  const [insertOne, insertMany, bulkWrite] = [write("insertOne"), write("insertMany"), write("bulkWrite")];
  const [updateOne, findOneAndUpdate] = [write("updateOne"), write("findOneAndUpdate")];
  const [deleteOne, deleteMany] = [write("deleteOne"), write("deleteMany")];

  return {
    findOne: (filter, options) => around(findOne, () => inner.findOne(filter, options), options, filter),
    find: (filter, options) => ({
      toArray: () => around(find, (signal) => inner.find(filter, heeding(options, signal)).toArray(), options, filter),
    }),
    findFields: (fields, filter, options) =>
      around(find, (signal) => inner.findFields(fields, filter, heeding(options, signal)), options, filter),
    insertOne: (document, options) => around(insertOne, () => inner.insertOne(document, options), options, document),
    insertMany: (documents, options) => around(insertMany, () => inner.insertMany(documents, options), options, documents),
    updateOne: (filter, update, options) => around(updateOne, () => inner.updateOne(filter, update, options), options, filter, update),
    findOneAndUpdate: (filter, update, options) =>
      around(findOneAndUpdate, () => inner.findOneAndUpdate(filter, update, options), options, filter, update),
    deleteOne: (filter, options) => around(deleteOne, () => inner.deleteOne(filter, options), options, filter),
    deleteMany: (filter, options) => around(deleteMany, () => inner.deleteMany(filter, options), options, filter),
    bulkWrite: (operations, options) => around(bulkWrite, () => inner.bulkWrite(operations, options), options, operations),
    ...(inner.vouch && { vouch: inner.vouch }),
  };
};
