import type { DatabaseSync } from "node:sqlite";
import type { CollectionName } from "../../port/documents.ts";
import { type IndexDeclaration, indexes, retired } from "../../port/indexes.ts";
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
  return `CREATE ${unique ? "UNIQUE " : ""}INDEX IF NOT EXISTS "${collection}.${name}" ON "${collection}" (${fields.map(columnName).join(", ")})${where}`;
};

/**
 * Creates what is missing of one collection: its table, columns that are new, and the indexes; those that others took the place of go. A version that does not know
 * a column would not keep it in step with the document: whoever adds one raises `SCHEMA_VERSION`, too, unless no earlier version
 * writes the field.
 */
export const createMissing = (database: DatabaseSync, collection: CollectionName): void => {
  const wanted = columnsOf(collection);
  // The text comes last: what stands before it is read without the pages that a long one overflows to. Rows stand in the
  // order in which they came, so new ones share their pages, whatever their ids: each page that changes is written
  // whole. (Tables of a file from before that are in the order of their ids, and stay so.)
  const columns = ["id TEXT NOT NULL PRIMARY KEY", ...wanted.map(columnName), "doc TEXT NOT NULL"];
  database.exec(`CREATE TABLE IF NOT EXISTS "${collection}" (${columns.join(", ")})`);
  const present = new Set(
    database
      .prepare("SELECT name FROM pragma_table_info(?)")
      .all(collection)
      .map(({ name }) => name),
  );
  for (const field of wanted) {
    if (present.has(field)) continue;
    database.exec(`ALTER TABLE "${collection}" ADD COLUMN ${columnName(field)}`);
    const value = `json_extract(doc,'$.${field}')`;
    database.exec(`UPDATE "${collection}" SET ${columnName(field)}=${value} WHERE ${value} IS NOT NULL`);
  }
  for (const index of indexes) if (index.collection === collection) database.exec(indexSql(index));
  for (const index of retired) if (index.collection === collection) database.exec(`DROP INDEX IF EXISTS "${collection}.${index.name}"`);
};
