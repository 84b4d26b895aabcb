import { type Collection as DriverCollection, MongoBulkWriteError } from "mongodb";
import { systemClock } from "../../base/clock.ts";
import type { KeyedMutex } from "../keyedMutex.ts";
import { applyUpdate, type Fields, fieldsOfFilter } from "../port/applyUpdate.ts";
import type { Collection, Filter, FindOptions, Identified, OperationOptions, Update } from "../port/collection.ts";
import type { CollectionName } from "../port/documents.ts";
import { DuplicateKeyError, StoreUnavailableError } from "../port/errors.ts";
import { indexes } from "../port/indexes.ts";
import { readable } from "../readable.ts";
import { isTooSlow, isTransient, toStoreError } from "./mongoErrors.ts";
import { repeated } from "./repeated.ts";

/**
 * Documents of one answer of the server, which holds 16 MiB of them: more than any find tells, so that a find is one command
 * and sees one moment. By its default a server gives a hundred and the rest in commands of their own; FerretDB then leaves out
 * documents, and gives others twice, that were written in between.
 */
const WHOLE = 1_000_000;

/** What one attempt to read a page by its ids alone gets, in milliseconds; an API that has few of the keys takes longer. */
const ATTEMPT_TIME = 30;

/** What is peculiar to the server. */
export interface ServerTraits {
  /**
   * FerretDB sorts what an index finds, even if that is in order: for a page of 100 it reads all the keys that an API has
   * behind it. MongoDB reads what it needs.
   */
  readonly sortsInMemory: boolean;
}

/** Fields by which what belongs to an owner is listed, in the order of the ids. */
const owners = new Set<string>(
  indexes.flatMap(({ fields: [first, owner, ...rest] }) =>
    first === "workspaceId" && rest.at(-1) === "_id" && owner !== undefined ? [owner] : [],
  ),
);

/** A page of all that belongs to one owner, or of all there is: the ids in their order meet it soon, unless it has but few of them. */
const isPage = <D>(filter: Filter<D>, { sort, limit }: FindOptions<D>): boolean =>
  limit !== undefined && Object.keys(sort ?? {}).join() === "_id" && Object.keys(filter).filter((field) => owners.has(field)).length <= 1;

/** The driver would leave the condition out, and so widen the filter. */
const checked = <D>(filter: Filter<D>): Filter<D> => {
  for (const [field, condition] of Object.entries(filter)) {
    if (condition === undefined) throw new TypeError(`cannot compare ${field} with undefined`);
    if (field === "$or") (condition as readonly Filter<D>[]).forEach(checked);
  }
  return filter;
};

const nothing = { matchedCount: 0 } as const;

/** The server undid the first of several writes that had anything to do, and all before it found nothing. */
const didNothing = (error: unknown): boolean =>
  error instanceof MongoBulkWriteError && isTransient(error) && error.insertedCount + error.matchedCount + error.deletedCount === 0;

/**
 * The driver's collection, with every operation bounded in time and its errors mapped. The signal only keeps an
 * operation from starting: the driver would close the connection of one that runs.
 * @param run surrounds every operation.
 * @param turns in which this node's writes of one unique value wait for each other; one for the whole store, which may be asked for a collection many times.
 * @param traits known once the store is prepared.
 * @param maxTimeMS what the server gives one operation, in milliseconds.
 */
export const mongoCollection = <D extends Identified>(
  name: CollectionName,
  driver: DriverCollection,
  run: <T>(operation: () => Promise<T>) => Promise<T>,
  turns: KeyedMutex,
  traits: ServerTraits,
  maxTimeMS: number,
): Collection<D> => {
  const bounded: OperationOptions & { readonly maxTimeMS: number } = { maxTimeMS };
  const native = driver as unknown as Collection<D>;
  const known = readable<D>(name);
  const knownOrNull = (document: D | null): D | null => (document === null ? null : known(document));
  const unique = indexes.find((index) => index.collection === name && index.unique);
  const uniqueFields = unique?.fields.filter((field) => field !== "workspaceId") ?? [];

  const attempt = <T>(kind: "read" | "write", signal: AbortSignal | undefined, operation: () => Promise<T>): Promise<T> =>
    run(async () => {
      signal?.throwIfAborted();
      try {
        return await operation();
      } catch (error) {
        throw toStoreError(error, kind, unique?.name);
      }
    });

  /** A write of one document: the server did it or did not. */
  const attemptOne = <T>(signal: AbortSignal | undefined, operation: () => Promise<T>): Promise<T> =>
    attempt("write", signal, () => repeated(isTransient, operation));

  /**
   * Lets this node take one value of the unique index once at a time. FerretDB's servers deadlock over it: PostgreSQL
   * undoes one of them after a second, then the next, so that a dozen at once would time out.
   */
  const oneByOne = <T>(fields: Fields, operation: (waited: boolean) => Promise<T>): Promise<T> => {
    const values = uniqueFields.map((field) => fields[field]);
    if (values.length === 0 || values.includes(undefined)) return operation(false);
    const last = systemClock.monotonic() + maxTimeMS;
    return turns.run(JSON.stringify([name, ...values]), (waited) => {
      // Its caller has been told that the store is away, or will be before this could end.
      if (systemClock.monotonic() > last)
        throw new StoreUnavailableError(`too many writes of one value of ${unique?.name}`, { tooSlow: true });
      return operation(waited);
    });
  };

  /** Refuses a document whose id or unique value is already stored, as the indexes would. */
  const refuseTaken = async (document: Fields): Promise<void> => {
    if (unique === undefined || unique.fields.some((field) => document[field] === undefined)) return;
    const taken = Object.fromEntries(unique.fields.map((field) => [field, document[field]])) as Filter<D>;
    const holder = await native.findOne(checked(taken), { ...bounded, projection: { _id: 1 } } as OperationOptions);
    // Its own is that of an attempt whose outcome its caller did not hear.
    if (holder !== null) throw new DuplicateKeyError(holder._id === document._id ? "_id" : unique.name);
  };

  /**
   * Where another insert of its value went before, on this node or on one over which the server undid this one, it looks first: an
   * insert that is bound to be refused still deadlocks with other nodes' writes of that value.
   */
  const insertOne = (document: D, signal: AbortSignal | undefined) =>
    oneByOne(document as Fields, (waited) => {
      let isFirst = !waited;
      return attemptOne(signal, async () => {
        if (!isFirst) await refuseTaken(document as Fields);
        isFirst = false;
        return native.insertOne(document, bounded);
      });
    });

  const modified = <T>(update: Update<D>, signal: AbortSignal | undefined, operation: () => Promise<T>): Promise<T> =>
    oneByOne(update.$set ?? {}, () => attemptOne(signal, operation));

  /**
   * Updates, else inserts, until one of them succeeds: of concurrent upserts with one filter one inserts, and the
   * others update what it inserted. Not the server's own upsert, because FerretDB's tells several that they inserted.
   */
  const upserted = <T>(
    filter: Filter<D>,
    update: Update<D>,
    signal: AbortSignal | undefined,
    modify: () => Promise<T | undefined>,
    inserted: (document: D) => T,
  ): Promise<T> =>
    repeated(
      (error) => error instanceof DuplicateKeyError,
      async () => {
        const found = await modify();
        if (found !== undefined) return found;
        const document = applyUpdate(fieldsOfFilter(filter), update as Fields, true) as unknown as D;
        if (typeof document._id !== "string") throw new TypeError("an upsert needs an _id");
        await insertOne(document, signal);
        return inserted(document);
      },
    );

  const find = (filter: Filter<D>, options: FindOptions<D>, projection?: Readonly<Record<string, 1>>): Promise<D[]> =>
    attempt("read", options.signal, async () => {
      const { sort, limit } = options;
      const page = {
        ...(sort && { sort }),
        ...(limit && { limit }),
        batchSize: limit ?? WHOLE,
        ...(projection && { projection }),
        ...bounded,
      };
      if (!traits.sortsInMemory || !isPage(filter, options)) return native.find(checked(filter), page).toArray();
      const byIds: typeof page & { readonly hint: string } = { ...page, hint: "_id_" };
      // The ids in their order are all that it asks for, however long that takes: any other way reads everything behind.
      if (Object.keys(filter).every((field) => field === "_id")) return native.find(checked(filter), byIds).toArray();
      const briefly: typeof byIds = { ...byIds, maxTimeMS: ATTEMPT_TIME };
      try {
        return await native.find(checked(filter), briefly).toArray();
      } catch (error) {
        if (!isTooSlow(error)) throw error;
        return native.find(checked(filter), page).toArray();
      }
    });

  return {
    findOne: (filter, { sort, signal } = {}) =>
      attempt("read", signal, async () => knownOrNull(await native.findOne(checked(filter), { ...(sort && { sort }), ...bounded }))),
    find: (filter, options = {}) => ({
      toArray: async () => {
        const found = await find(filter, options);
        if (!options.ofAnyVersion) for (const document of found) known(document);
        return found;
      },
    }),
    findFields: (fields, filter, options = {}) =>
      find(filter, options, Object.fromEntries(["_id", ...fields].map((field) => [field, 1] as const))),
    insertOne: (document, { signal } = {}) => insertOne(document, signal),
    insertMany: (documents, { signal } = {}) => {
      const [first] = documents;
      // In its turn and again if the server undid it; of several some may have been inserted.
      if (first !== undefined && documents.length === 1) return insertOne(first, signal);
      return attempt("write", signal, async () => documents.length > 0 && native.insertMany(documents, bounded));
    },
    updateOne: (filter, update, { upsert, signal } = {}) => {
      const modify = () => modified(update, signal, () => native.updateOne(checked(filter), update, bounded));
      if (!upsert) return modify();
      return upserted(
        filter,
        update,
        signal,
        async () => {
          const result = await modify();
          return result.matchedCount === 0 ? undefined : result;
        },
        () => ({ matchedCount: 0, modifiedCount: 0, upsertedCount: 1 }),
      );
    },
    findOneAndUpdate: (filter, update, { upsert, returnDocument, signal }) => {
      const modify = () =>
        // What is done is told, whoever wrote the document: a refusal would say that nothing was done.
        modified(update, signal, () => native.findOneAndUpdate(checked(filter), update, { returnDocument, ...bounded }));
      if (!upsert) return modify();
      return upserted<D | null>(
        filter,
        update,
        signal,
        async () => (await modify()) ?? undefined,
        (document) => (returnDocument === "after" ? document : null),
      );
    },
    deleteOne: (filter, { signal } = {}) => attemptOne(signal, () => native.deleteOne(checked(filter), bounded)),
    deleteMany: (filter, { signal } = {}) => attempt("write", signal, () => native.deleteMany(checked(filter), bounded)),
    bulkWrite: (operations, { signal } = {}) => {
      for (const operation of operations) {
        if ("updateOne" in operation) checked(operation.updateOne.filter);
        else if ("deleteOne" in operation) checked(operation.deleteOne.filter);
      }
      return attempt("write", signal, () =>
        repeated(didNothing, async () => (operations.length > 0 ? native.bulkWrite(operations, bounded) : nothing)),
      );
    },
  };
};
