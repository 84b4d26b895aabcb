import { type Db, type IndexDescription, MongoError } from "mongodb";
import { type IndexDeclaration, indexes, retired } from "../port/indexes.ts";

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

/**
 * Creates the indexes that are missing, then drops those whose place they took: until then a node of the version before,
 * which may still run, has its own, and from then on these serve it as well. Safe to call from several nodes at once.
 * @param maxTimeMS what one index may take over what is already stored.
 */
export const prepareIndexes = async (database: Db, maxTimeMS: number): Promise<void> => {
  for (const [collection, declared] of Map.groupBy(indexes, (index) => index.collection)) {
    const create = () => database.collection(collection).createIndexes(declared.map(description), { maxTimeMS });
    // Servers may refuse a second creation while the first is still running; then it is asked for again.
    await create().catch(create);
  }
  for (const { collection, name } of retired) {
    try {
      await database.collection(collection).dropIndex(name, { maxTimeMS });
    } catch (error) {
      if (!(error instanceof MongoError) || !NOT_FOUND.has(error.code)) throw error;
    }
  }
};
