import { Query } from "mingo";
import { type Modifier, updateOne } from "mingo/updater";
import type { BulkOperation, Collection, Filter, FindOptions, Update, UpdateResult } from "../../src/platform/storage/port/collection.ts";
import type { KeyDocument } from "../../src/platform/storage/port/documents.ts";
import { DuplicateKeyError } from "../../src/platform/storage/port/errors.ts";

type Plain = Record<string, unknown> & { _id: string };

/** Nothing but what the update itself says: mingo has no `$setOnInsert`. */
const modifierOf = ({ $setOnInsert: _, ...update }: Update<KeyDocument>): Modifier<Plain> => update as unknown as Modifier<Plain>;

const equalitiesOf = (filter: Filter<KeyDocument>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(filter).filter(([field, value]) => field !== "$or" && typeof value !== "object"));

/** The `keys` collection by another implementation of MongoDB's language (mingo), over an array: what the engines are compared with. */
export const createOracle = (): Collection<KeyDocument> => {
  let documents: Plain[] = [];

  const put = (document: Plain): void => {
    const others = documents.filter(({ _id }) => _id !== document._id);
    if (
      document.hash !== undefined &&
      others.some(({ hash, workspaceId }) => hash === document.hash && workspaceId === document.workspaceId)
    )
      throw new DuplicateKeyError("hash");
    documents = [...others, document];
  };

  const insert = (document: KeyDocument): void => {
    if (documents.some(({ _id }) => _id === document._id)) throw new DuplicateKeyError("_id");
    put(structuredClone(document) as unknown as Plain);
  };

  const matching = (filter: Filter<KeyDocument>, { sort, limit }: FindOptions<KeyDocument> = {}): Plain[] => {
    const cursor = new Query(filter as never).find<Plain>(structuredClone(documents));
    if (sort) cursor.sort(sort as Record<string, 1 | -1>);
    if (limit) cursor.limit(limit);
    return cursor.all();
  };

  const modify = (filter: Filter<KeyDocument>, update: Update<KeyDocument>, upsert = false) => {
    const [before] = matching(filter);
    const after = [before ?? ({ ...equalitiesOf(filter) } as Plain)].map((document) => structuredClone(document));
    if (before === undefined && !upsert) return { before: null, after: null, modifiedCount: 0, upsertedCount: 0 };
    const { modifiedCount } = updateOne(after, {}, structuredClone(modifierOf(update)), { cloneMode: "deep" });
    const changed = { ...after[0], ...(before === undefined ? update.$setOnInsert : {}) } as Plain;
    if (before === undefined) insert(changed as unknown as KeyDocument);
    else put(changed);
    return { before: before ?? null, after: changed, modifiedCount: before ? modifiedCount : 0, upsertedCount: before ? 0 : 1 };
  };

  const remove = (filter: Filter<KeyDocument>, limit: number): { deletedCount: number } => {
    const gone = new Set(
      matching(filter)
        .slice(0, limit)
        .map(({ _id }) => _id),
    );
    documents = documents.filter(({ _id }) => !gone.has(_id));
    return { deletedCount: gone.size };
  };

  /** How many documents an update finds. */
  const one = (operation: BulkOperation<KeyDocument>): number => {
    if ("updateOne" in operation) return modify(operation.updateOne.filter, operation.updateOne.update).before === null ? 0 : 1;
    if ("insertOne" in operation) insert(operation.insertOne.document);
    else remove(operation.deleteOne.filter, 1);
    return 0;
  };

  const typed = (document: Plain | null | undefined): KeyDocument | null => structuredClone(document ?? null) as KeyDocument | null;

  return {
    findOne: async (filter, options) => typed(matching(filter, { ...options, limit: 1 })[0]),
    find: (filter, options) => ({ toArray: async () => matching(filter, options) as unknown as KeyDocument[] }),
    findFields: async (fields, filter, options) =>
      matching(filter, options).map((document) => {
        const kept = Object.entries(document).filter(([field]) => field === "_id" || (fields as readonly string[]).includes(field));
        return structuredClone(Object.fromEntries(kept)) as unknown as KeyDocument;
      }),
    insertOne: async (document) => insert(document),
    insertMany: async (many) => many.forEach(insert),
    updateOne: async (filter, update, options): Promise<UpdateResult> => {
      const { before, modifiedCount, upsertedCount } = modify(filter, update, options?.upsert);
      return { matchedCount: before ? 1 : 0, modifiedCount, upsertedCount };
    },
    findOneAndUpdate: async (filter, update, { upsert, returnDocument }) => typed(modify(filter, update, upsert)[returnDocument]),
    deleteOne: async (filter) => remove(filter, 1),
    deleteMany: async (filter) => remove(filter, Number.POSITIVE_INFINITY),
    bulkWrite: async (operations) => {
      let matchedCount = 0;
      for (const operation of operations) matchedCount += one(operation);
      return { matchedCount };
    },
  };
};
