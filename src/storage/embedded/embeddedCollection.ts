import type { SQLInputValue } from "node:sqlite";
import type { Clock } from "../../domain/clock.ts";
import type { Fields } from "../applyUpdate.ts";
import type { BulkOperation, Collection, Filter, Identified, Update, UpdateOptions } from "../collection.ts";
import type { CollectionName } from "../documents.ts";
import { columnValues } from "./columns.ts";
import { textDecoder, toText } from "./documentText.ts";
import { filterToSql, type Sort } from "./filterToSql.ts";
import type { WriteOperation } from "./messages.ts";
import { createSlicedFind, type Read } from "./slicedFind.ts";
import type { WriteQueue } from "./writeQueue.ts";

/** Runs one query and returns the texts of what it found. Throws `StoreUnavailableError` when the file cannot be read. */
export type ReadTexts = (sql: string, parameters: readonly SQLInputValue[]) => readonly string[];

/** So that a large one shares the writer with others. */
const CHUNK = 500;

/** One collection of the embedded store: reads at once on this thread, writes by way of the queue. */
export const embeddedCollection = <D extends Identified>(
  collection: CollectionName,
  clock: Clock,
  readTexts: ReadTexts,
  { write }: Pick<WriteQueue, "write">,
): Collection<D> => {
  const decode = textDecoder<D>(collection);
  const decodeOptional = (text: string | undefined): D | null => (text === undefined ? null : decode(text));

  const read: Read = (column, filter, { sort, limit, skip, signal }) => {
    signal?.throwIfAborted();
    const where = filterToSql(collection, filter, sort, limit);
    const offset = skip === undefined ? "" : ` OFFSET ${skip}`;
    return readTexts(`SELECT ${column} AS doc FROM "${collection}"${where.text}${offset}`, where.parameters);
  };

  const find = createSlicedFind(clock, read);

  const insertion = (document: D): WriteOperation => {
    const fields = document as unknown as Fields;
    return { kind: "insert", collection, id: document._id, text: toText(fields), columns: columnValues(collection, fields) };
  };
  const modification = (filter: Filter<D>, update: Update<D>, upsert = false, returns?: "before" | "after"): WriteOperation => ({
    kind: "update",
    collection,
    filter: filter as Fields,
    update: update as Fields,
    upsert,
    ...(returns && { returns }),
  });
  const deletion = (filter: Filter<D>, limit: number): WriteOperation => ({ kind: "delete", collection, filter: filter as Fields, limit });

  const bulkMember = (member: BulkOperation<D>): WriteOperation => {
    if ("insertOne" in member) return insertion(member.insertOne.document);
    if ("deleteOne" in member) return deletion(member.deleteOne.filter, 1);
    return modification(member.updateOne.filter, member.updateOne.update);
  };

  const bulk = async (operations: readonly WriteOperation[], signal: AbortSignal | undefined): Promise<void> => {
    for (let start = 0; start < operations.length; start += CHUNK) {
      await write({ kind: "bulk", operations: operations.slice(start, start + CHUNK) }, signal);
    }
  };

  return {
    findOne: async (filter, { sort, signal } = {}) =>
      decodeOptional(read("doc", filter as Fields, { sort: sort as Sort | undefined, limit: 1, signal })[0]),
    find: (filter, { sort, limit, signal } = {}) => ({
      toArray: async () => (await find(filter as Fields, { sort: sort as Sort | undefined, limit, signal })).map(decode),
    }),
    insertOne: async (document, { signal } = {}) => {
      await write(insertion(document), signal);
    },
    insertMany: async (documents, { signal } = {}) => bulk(documents.map(insertion), signal),
    bulkWrite: async (operations, { signal } = {}) => bulk(operations.map(bulkMember), signal),
    updateOne: async (filter, update, { upsert, signal }: UpdateOptions = {}) => {
      const { matched, modified, upserted } = await write(modification(filter, update, upsert), signal);
      return { matchedCount: matched, modifiedCount: modified, upsertedCount: upserted };
    },
    findOneAndUpdate: async (filter, update, { upsert, returnDocument, signal }) =>
      decodeOptional((await write(modification(filter, update, upsert, returnDocument), signal)).text),
    deleteOne: async (filter, { signal } = {}) => {
      const { deleted } = await write(deletion(filter, 1), signal);
      return { deletedCount: deleted };
    },
    deleteMany: async (filter, { signal } = {}) => {
      let deletedCount = 0;
      for (;;) {
        const { deleted } = await write(deletion(filter, CHUNK), signal);
        deletedCount += deleted;
        if (deleted < CHUNK) return { deletedCount };
      }
    },
  };
};
