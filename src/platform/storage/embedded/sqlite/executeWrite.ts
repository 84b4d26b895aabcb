import type { DatabaseSync } from "node:sqlite";
import { applyUpdate, type Fields, fieldsOfFilter } from "../../port/applyUpdate.ts";
import type { CollectionName } from "../../port/documents.ts";
import { DuplicateKeyError, StoreDamagedError } from "../../port/errors.ts";
import { putCounters, removeExpired } from "../counters/counterTable.ts";
import { columnsOf, columnValues } from "./columns.ts";
import { damagedRow, readStored, toText } from "./documentText.ts";
import { filterToSql } from "./filterToSql.ts";
import type { WriteOperation, WriteResult } from "./messages.ts";
import { createMissing } from "./schema.ts";
import { duplicateIn, isDamage, isUnavailability, messageOf } from "./sqliteErrors.ts";
import { statementCache } from "./statements.ts";
import { nameStore } from "./storeRow.ts";

type Of<K extends WriteOperation["kind"]> = Extract<WriteOperation, { kind: K }>;
interface Row {
  readonly id: string;
  readonly doc: string;
}

const insertions = new Map<CollectionName, string>();

/** Made once for each collection: documents are inserted by the hundred. */
const insertionInto = (collection: CollectionName): string => {
  let text = insertions.get(collection);
  if (text === undefined) {
    const columns = ["id", "doc", ...columnsOf(collection).map((field) => `"${field}"`)];
    text = `INSERT INTO "${collection}" (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
    insertions.set(collection, text);
  }
  return text;
};

/**
 * The fields that an update removes, if it does nothing else and its filter says that one of them is there: then it is a change
 * whatever the document holds besides.
 */
const removedFields = ({ filter, update, upsert, returns }: Of<"update">): readonly string[] | undefined => {
  const { $unset, ...others } = update;
  if (upsert || returns !== undefined || typeof filter._id !== "string" || Object.keys(others).length > 0) return undefined;
  const fields = Object.keys($unset ?? {});
  return fields.some((field) => field !== "_id" && typeof filter[field] === "string") ? fields : undefined;
};

const nothing: WriteResult = { matched: 0, modified: 0, upserted: 0, deleted: 0 };

/**
 * Executes operations inside an open transaction. Each changes a document by one statement, which SQLite undoes by
 * itself when it fails: no savepoint is needed for an operation to fail alone.
 * The function throws only when the whole transaction is lost, and for damage, which a statement may meet half-way.
 */
export const writeExecutor = (database: DatabaseSync): ((operation: WriteOperation) => WriteResult) => {
  const statement = statementCache(database);

  /** Of several indexes that refuse a document the id is named, as MongoDB does. */
  const insert = ({ collection, id, text, columns }: Omit<Of<"insert">, "kind">): void => {
    const insertion = statement(insertionInto(collection));
    try {
      insertion.run(id, text, ...columns);
    } catch (error) {
      if (duplicateIn(error) === undefined || statement(`SELECT 1 FROM "${collection}" WHERE id=?`).get(id) === undefined) throw error;
      throw new DuplicateKeyError("_id");
    }
  };

  /** Names only the columns that change: the indexes on all others stay as they are. */
  const replace = (collection: CollectionName, id: string, before: Fields, after: Fields, text: string): void => {
    const old = columnValues(collection, before);
    const now = columnValues(collection, after);
    const changed = columnsOf(collection).flatMap((field, position) =>
      now[position] === old[position] ? [] : [{ field, value: now[position] ?? null }],
    );
    const assignments = changed.map(({ field }) => `, "${field}"=?`).join("");
    statement(`UPDATE "${collection}" SET doc=?${assignments} WHERE id=?`).run(text, ...changed.map(({ value }) => value), id);
  };

  /** Removes fields from a document that is neither read nor written as a whole; a third of the time. */
  const removeFields = (collection: CollectionName, filter: Fields, fields: readonly string[]): WriteResult => {
    const columns = columnsOf(collection).filter((column) => fields.includes(column));
    const assignments = columns.map((column) => `, "${column}"=NULL`).join("");
    const paths = fields.map((field) => `'$.${field}'`).join(",");
    const where = filterToSql(collection, filter);
    const removal = statement(`UPDATE "${collection}" SET doc=json_remove(doc,${paths})${assignments}${where.text}`);
    try {
      const changed = Number(removal.run(...where.parameters).changes);
      return { ...nothing, matched: changed, modified: changed };
    } catch (error) {
      if (messageOf(error) === "malformed JSON") throw damagedRow(collection, error);
      throw error;
    }
  };

  const update = (operation: Of<"update">): WriteResult => {
    const { collection, filter, update: changes, upsert, returns } = operation;
    const removed = removedFields(operation);
    if (removed !== undefined) return removeFields(collection, filter, removed);
    const where = filterToSql(collection, filter, {}, 1);
    const found = statement(`SELECT id, doc FROM "${collection}"${where.text}`).get(...where.parameters) as unknown as Row | undefined;
    if (found !== undefined) {
      const before = readStored(collection, found.doc);
      const document = applyUpdate(before, changes, false);
      const after = toText(document);
      const modified = after === found.doc ? 0 : 1;
      if (modified === 1) replace(collection, found.id, before, document, after);
      return { ...nothing, matched: 1, modified, ...(returns && { text: returns === "before" ? found.doc : after }) };
    }
    if (!upsert) return nothing;
    const document = applyUpdate(fieldsOfFilter(filter), changes, true);
    if (typeof document._id !== "string") throw new TypeError("an upsert needs an _id");
    const after = toText(document);
    insert({ collection, id: document._id, text: after, columns: columnValues(collection, document) });
    return { ...nothing, upserted: 1, ...(returns === "after" && { text: after }) };
  };

  const remove = ({ collection, filter, limit }: Of<"delete">): WriteResult => {
    const where = filterToSql(collection, filter, {}, limit);
    const { changes } = statement(`DELETE FROM "${collection}" WHERE id IN (SELECT id FROM "${collection}"${where.text})`).run(
      ...where.parameters,
    );
    return { ...nothing, deleted: Number(changes) };
  };

  const bulk = (operations: readonly WriteOperation[]): WriteResult => {
    let matched = 0;
    for (const operation of operations) {
      const result = execute(operation);
      if (result.failure !== undefined) return result;
      matched += result.matched;
    }
    return { ...nothing, matched };
  };

  const attempt = (operation: WriteOperation): WriteResult => {
    switch (operation.kind) {
      case "insert":
        insert(operation);
        return nothing;
      case "update":
        return update(operation);
      case "delete":
        return remove(operation);
      case "putCounters":
        putCounters(statement, operation.entries);
        return nothing;
      case "removeCounters": {
        const next = removeExpired(statement, operation.after, operation.now);
        return { ...nothing, ...(next !== undefined && { text: next }) };
      }
      case "bulk":
        return bulk(operation.operations);
      case "define":
        for (const collection of operation.collections) createMissing(database, collection, operation.withoutIndexes);
        return nothing;
      case "name":
        nameStore(database, operation.store);
        return nothing;
      case "emptyLog":
        return nothing;
      case "touch":
        database.exec("PRAGMA user_version=1");
        return nothing;
    }
  };

  const execute = (operation: WriteOperation): WriteResult => {
    try {
      return attempt(operation);
    } catch (error) {
      if (isUnavailability(error) || isDamage(error) || !database.isTransaction) throw error;
      const index = error instanceof DuplicateKeyError ? error.index : duplicateIn(error);
      if (index !== undefined) return { ...nothing, failure: { duplicateIn: index } };
      if (error instanceof StoreDamagedError) return { ...nothing, failure: { damaged: error.message } };
      return { ...nothing, failure: { refused: messageOf(error) } };
    }
  };
  return execute;
};
