import type { CollectionName } from "../documents.ts";
import { indexes } from "../indexes.ts";
import { fieldSql } from "./filterToSql.ts";

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
  changes: true,
  audit: true,
  leases: true,
  system: true,
};

export const collectionNames: readonly CollectionName[] = Object.keys(collections) as CollectionName[];

/** Creates what is missing of one collection: its table and its declared indexes. */
export const schemaSql = (collection: CollectionName): readonly string[] => [
  `CREATE TABLE IF NOT EXISTS "${collection}" (id TEXT PRIMARY KEY, doc TEXT NOT NULL) WITHOUT ROWID`,
  ...indexes
    .filter((index) => index.collection === collection)
    .map(({ name, fields, unique, onlyWith }) => {
      const where = onlyWith === undefined ? "" : ` WHERE ${fieldSql(onlyWith)} IS NOT NULL`;
      return `CREATE ${unique ? "UNIQUE " : ""}INDEX IF NOT EXISTS "${collection}.${name}" ON "${collection}" (${fields.map(fieldSql).join(", ")})${where}`;
    }),
];
