import type { DatabaseSync } from "node:sqlite";
import type { CollectionName } from "../../port/documents.ts";
import { type IndexDeclaration, indexes, retired } from "../../port/indexes.ts";
import type { PendingChange } from "../../port/pendingChange.ts";
import { columnsOf } from "./columns.ts";

const collections: Readonly<Record<CollectionName, true>> = {
  apis: true,
  keys: true,
  identities: true,
  permissions: true,
  roles: true,
  rootKeys: true,
  namespaces: true,
  overrides: true,
  counters: true,
  migrations: true,
  sessions: true,
  failedSignIns: true,
  changes: true,
  idempotency: true,
  audit: true,
  auditIndex: true,
  leases: true,
  sweeps: true,
  nodes: true,
  system: true,
};

export const collectionNames: readonly CollectionName[] = Object.keys(collections) as CollectionName[];

const columnName = (field: string): string => (field === "_id" ? "id" : `"${field}"`);

const indexSql = ({ collection, name, fields, unique, onlyWith }: IndexDeclaration): string => {
  const where = onlyWith === undefined ? "" : ` WHERE ${columnName(onlyWith)} IS NOT NULL`;
  return `CREATE ${unique ? "UNIQUE " : ""}INDEX "${collection}.${name}" ON "${collection}" (${fields.map(columnName).join(", ")})${where}`;
};

const of =
  (collection: CollectionName) =>
  (index: Pick<IndexDeclaration, "collection">): boolean =>
    index.collection === collection;

const namesIn = (database: DatabaseSync, sql: string, collection: CollectionName): ReadonlySet<unknown> =>
  new Set(
    database
      .prepare(sql)
      .all(collection)
      .map(({ name }) => name),
  );

/** What is missing of one collection, and indexes that others took the place of, in the order in which it is changed. Reads only. */
export const changesDue = (database: DatabaseSync, collection: CollectionName): readonly PendingChange[] => {
  const columns = namesIn(database, "SELECT name FROM pragma_table_info(?)", collection);
  const made = namesIn(database, "SELECT name FROM sqlite_schema WHERE type='index' AND tbl_name=?", collection);
  const isMade = ({ name }: { readonly name: string }): boolean => made.has(`${collection}.${name}`);
  const change =
    (kind: PendingChange["kind"]) =>
    ({ name }: { readonly name: string }): PendingChange => ({ kind, collection, name });
  return [
    // A table that is missing is made with all of them.
    ...(columns.size === 0 ? [] : columnsOf(collection).filter((field) => !columns.has(field))).map((name) =>
      change("add column")({ name }),
    ),
    ...indexes.filter((index) => of(collection)(index) && !isMade(index)).map(change("build index")),
    ...retired.filter((index) => of(collection)(index) && isMade(index)).map(change("drop index")),
  ];
};

const make = (database: DatabaseSync, { kind, collection, name }: PendingChange): void => {
  if (kind === "drop index") {
    database.exec(`DROP INDEX "${collection}.${name}"`);
  } else if (kind === "build index") {
    for (const index of indexes) if (of(collection)(index) && index.name === name) database.exec(indexSql(index));
  } else {
    database.exec(`ALTER TABLE "${collection}" ADD COLUMN ${columnName(name)}`);
    const value = `json_extract(doc,'$.${name}')`;
    database.exec(`UPDATE "${collection}" SET ${columnName(name)}=${value} WHERE ${value} IS NOT NULL`);
  }
};

/**
 * Creates what is missing of one collection: its table, columns that are new, and the indexes; those that others took the place of go. A version that does not know
 * a column would not keep it in step with the document: whoever adds one raises `SCHEMA_VERSION`, too, unless no earlier version
 * writes the field.
 */
export const createMissing = (database: DatabaseSync, collection: CollectionName, withoutIndexes = false): void => {
  // The text comes last: what stands before it is read without the pages that a long one overflows to. Rows stand in the
  // order in which they came, so new ones share their pages, whatever their ids: each page that changes is written
  // whole. (Tables of a file from before that are in the order of their ids, and stay so.)
  const columns = ["id TEXT NOT NULL PRIMARY KEY", ...columnsOf(collection).map(columnName), "doc TEXT NOT NULL"];
  database.exec(`CREATE TABLE IF NOT EXISTS "${collection}" (${columns.join(", ")})`);
  for (const change of changesDue(database, collection)) {
    if (!withoutIndexes || change.kind === "add column") make(database, change);
  }
};
