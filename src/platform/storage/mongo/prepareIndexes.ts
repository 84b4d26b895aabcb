import { type Db, type IndexDescription, MongoError } from "mongodb";
import type { CollectionName } from "../port/documents.ts";
import { type IndexDeclaration, indexes, retired } from "../port/indexes.ts";
import type { PendingChange } from "../port/pendingChange.ts";
import { toStoreError } from "./mongoErrors.ts";

const NOT_FOUND = new Set<unknown>([
  26, // NamespaceNotFound
  27, // IndexNotFound
]);

const description = ({ name, fields, unique, onlyWith, expiry }: IndexDeclaration): IndexDescription => ({
  name,
  key: Object.fromEntries(fields.map((field) => [field, 1])),
  ...(unique && { unique }),
  ...(onlyWith !== undefined && { partialFilterExpression: { [onlyWith]: { $exists: true } } }),
  ...(expiry && { expireAfterSeconds: 0 }),
});

const isMissing = (error: unknown): boolean => error instanceof MongoError && NOT_FOUND.has(error.code);

/** The names of the indexes that a collection has; none where nobody has made it. */
const namesIn = async (database: Db, collection: CollectionName): Promise<ReadonlySet<unknown>> => {
  try {
    return new Set((await database.collection(collection).listIndexes().toArray()).map(({ name }) => name));
  } catch (error) {
    if (isMissing(error)) return new Set();
    throw error;
  }
};

/** What `prepareIndexes` would do, in its order. Reads only. */
export const indexChangesDue = async (database: Db): Promise<readonly PendingChange[]> => {
  const declared = Map.groupBy([...indexes, ...retired], ({ collection }) => collection);
  const made = new Map(await Promise.all(Array.from(declared.keys(), async (name) => [name, await namesIn(database, name)] as const)));
  const isMade = ({ collection, name }: Pick<IndexDeclaration, "collection" | "name">): boolean => made.get(collection)?.has(name) === true;
  const change =
    (kind: PendingChange["kind"]) =>
    ({ collection, name }: Pick<IndexDeclaration, "collection" | "name">): PendingChange => ({ kind, collection, name });
  return [...indexes.filter((index) => !isMade(index)).map(change("build index")), ...retired.filter(isMade).map(change("drop index"))];
};

/**
 * Creates the indexes that are missing, then drops those whose place they took: until then a node of the version before,
 * which may still run, has its own, and from then on these serve it as well. Safe to call from several nodes at once.
 * Rejects with `DuplicateKeyError` where a unique one cannot be made of what is stored.
 * @param maxTimeMS what one index may take over what is already stored.
 */
export const prepareIndexes = async (database: Db, maxTimeMS: number): Promise<void> => {
  for (const [collection, declared] of Map.groupBy(indexes, (index) => index.collection)) {
    const create = () => database.collection(collection).createIndexes(declared.map(description), { maxTimeMS });
    // Servers may refuse a second creation while the first is still running; then it is asked for again.
    await create()
      .catch(create)
      .catch((error: unknown) => {
        throw toStoreError(error, "write", declared.find(({ unique }) => unique)?.name);
      });
  }
  for (const { collection, name } of retired) {
    try {
      await database.collection(collection).dropIndex(name, { maxTimeMS });
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
};
