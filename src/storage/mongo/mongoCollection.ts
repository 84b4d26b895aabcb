import type { Collection as DriverCollection } from "mongodb";
import type { Collection, Filter, Identified, OperationOptions } from "../collection.ts";
import { DuplicateKeyError } from "../errors.ts";
import { toStoreError } from "./mongoErrors.ts";

/** What the server gives one operation, in milliseconds. */
const OPERATION_TIME = 2500;
const bounded: OperationOptions & { readonly maxTimeMS: number } = { maxTimeMS: OPERATION_TIME };

/** A search followed by an insert, repeated while another node's insert comes between the two. */
const UPSERT_ATTEMPTS = 3;

/** The driver would leave the condition out, and so widen the filter. */
const checked = <D>(filter: Filter<D>): Filter<D> => {
  for (const [field, condition] of Object.entries(filter)) {
    if (condition === undefined) throw new TypeError(`cannot compare ${field} with undefined`);
    if (field === "$or") (condition as readonly Filter<D>[]).forEach(checked);
  }
  return filter;
};

const attempt = async <T>(kind: "read" | "write", signal: AbortSignal | undefined, operation: () => Promise<T>): Promise<T> => {
  signal?.throwIfAborted();
  try {
    return await operation();
  } catch (error) {
    throw toStoreError(error, kind);
  }
};

/** Of concurrent upserts with one filter, one inserts and the others find what it inserted. */
const upserting = async <T>(upsert: boolean, operation: () => Promise<T>): Promise<T> => {
  for (let attempts = 1; ; attempts++) {
    try {
      return await operation();
    } catch (error) {
      if (!upsert || attempts === UPSERT_ATTEMPTS || !(error instanceof DuplicateKeyError)) throw error;
    }
  }
};

/**
 * The driver's collection, with every operation bounded in time and its errors mapped. The signal only keeps an
 * operation from starting: the driver would close the connection of one that runs.
 */
export const mongoCollection = <D extends Identified>(driver: DriverCollection): Collection<D> => {
  const native = driver as unknown as Collection<D>;
  return {
    findOne: (filter, { sort, signal } = {}) =>
      attempt("read", signal, () => native.findOne(checked(filter), { ...(sort && { sort }), ...bounded })),
    find: (filter, { sort, limit, signal } = {}) => ({
      toArray: () =>
        attempt("read", signal, () =>
          native.find(checked(filter), { ...(sort && { sort }), ...(limit && { limit, batchSize: limit }), ...bounded }).toArray(),
        ),
    }),
    insertOne: (document, { signal } = {}) => attempt("write", signal, () => native.insertOne(document, bounded)),
    insertMany: (documents, { signal } = {}) =>
      attempt("write", signal, async () => documents.length > 0 && native.insertMany(documents, bounded)),
    updateOne: (filter, update, { upsert = false, signal } = {}) =>
      upserting(upsert, () => attempt("write", signal, () => native.updateOne(checked(filter), update, { upsert, ...bounded }))),
    findOneAndUpdate: (filter, update, { upsert = false, returnDocument, signal }) =>
      upserting(upsert, () =>
        attempt("write", signal, () => native.findOneAndUpdate(checked(filter), update, { upsert, returnDocument, ...bounded })),
      ),
    deleteOne: (filter, { signal } = {}) => attempt("write", signal, () => native.deleteOne(checked(filter), bounded)),
    deleteMany: (filter, { signal } = {}) => attempt("write", signal, () => native.deleteMany(checked(filter), bounded)),
    bulkWrite: (operations, { signal } = {}) =>
      attempt("write", signal, async () => operations.length > 0 && native.bulkWrite(operations, bounded)),
  };
};
