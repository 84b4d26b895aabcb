import type { SQLInputValue } from "node:sqlite";
import type { Fields } from "../../port/applyUpdate.ts";
import type { BulkOperation, Collection, Filter, FindOptions, Identified, Update, UpdateOptions } from "../../port/collection.ts";
import type { CollectionName } from "../../port/documents.ts";
import { columnValues } from "./columns.ts";
import { textDecoder, toText } from "./documentText.ts";
import { filterToSql, type Sort } from "./filterToSql.ts";
import type { WriteOperation } from "./messages.ts";
import { LOOK_UP_ROWS, type ReadTurns } from "./readTurns.ts";
import { documentSelection, fieldSelection, type Row, type Selection } from "./selection.ts";
import { createSlicedFind, type Read } from "./slicedFind.ts";
import type { WriteQueue } from "./writeQueue.ts";

/** Reads the file on this thread. Throws `StoreUnavailableError` when it cannot be read. */
export interface Reader {
  readonly row: (sql: string, parameters: readonly SQLInputValue[]) => Row | undefined;
  /** Gives `take` row after row until it has enough; no statement stays open. */
  readonly rows: (sql: string, parameters: readonly SQLInputValue[], take: (row: Row) => "on" | "enough") => void;
}

/** So that a large write shares the writer, and this thread, which makes the texts of documents, with others. */
const CHUNK = { operations: 500, bytes: 512 * 1024 } as const;

/** One collection of the embedded store: reads on this thread, in turns that all collections share, writes by way of the queue. */
export const embeddedCollection = <D extends Identified>(
  collection: CollectionName,
  reader: Reader,
  turns: ReadTurns,
  { write }: Pick<WriteQueue, "write">,
): Collection<D> => {
  const documents = documentSelection<D>(collection);
  const documentsOfAnyVersion = documentSelection<D>(collection, true);
  // What a write has done is told, whoever wrote the document: a refusal would say that nothing was done.
  const decode = textDecoder<D>(collection, true);
  const decodeOptional = (text: string | undefined): D | null => (text === undefined ? null : decode(text));

  const read: Read = (columns, filter, { sort, limit, skip }, take) => {
    const where = filterToSql(collection, filter, sort, limit);
    const offset = skip === undefined ? "" : ` OFFSET ${skip}`;
    reader.rows(`SELECT ${columns} FROM "${collection}"${where.text}${offset}`, where.parameters, take);
  };

  const slicedFind = createSlicedFind(collection, turns, read);
  const find = <R>(selection: Selection<R>, filter: Filter<D>, { sort, limit, signal }: FindOptions<D> = {}): Promise<R[]> =>
    slicedFind(selection, filter as Fields, { sort: sort as Sort | undefined, limit, signal });

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

  /** Makes an operation of each member only when its chunk is next: while the writer has one, it is others' turn. */
  const bulk = async <M>(
    members: readonly M[],
    operationOf: (member: M) => WriteOperation,
    signal?: AbortSignal,
  ): Promise<{ readonly matchedCount: number }> => {
    let matchedCount = 0;
    for (let next = 0; next < members.length; ) {
      const operations: WriteOperation[] = [];
      for (let bytes = 0; next < members.length && operations.length < CHUNK.operations && bytes < CHUNK.bytes; next++) {
        const operation = operationOf(members[next] as M);
        operations.push(operation);
        if (operation.kind === "insert") bytes += operation.text.length;
      }
      matchedCount += (await write({ kind: "bulk", operations }, signal)).matched;
    }
    return { matchedCount };
  };

  return {
    findOne: (filter, { sort, signal } = {}) =>
      turns.run("one", (spend) => {
        signal?.throwIfAborted();
        const where = filterToSql(collection, filter as Fields, sort as Sort | undefined, 1);
        const row = reader.row(`SELECT doc FROM "${collection}"${where.text}`, where.parameters);
        spend(LOOK_UP_ROWS, row === undefined ? 0 : documents.bytes(row));
        return row === undefined ? null : documents.decode(row);
      }),
    find: (filter, options) => ({ toArray: () => find(options?.ofAnyVersion ? documentsOfAnyVersion : documents, filter, options) }),
    findFields: async (fields, filter, options) => find(fieldSelection(collection, fields), filter, options),
    insertOne: async (document, { signal } = {}) => {
      await write(insertion(document), signal);
    },
    insertMany: async (documents, { signal } = {}) => bulk(documents, insertion, signal),
    bulkWrite: async (operations, { signal } = {}) => bulk(operations, bulkMember, signal),
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
        const { deleted } = await write(deletion(filter, CHUNK.operations), signal);
        deletedCount += deleted;
        if (deleted < CHUNK.operations) return { deletedCount };
      }
    },
  };
};
