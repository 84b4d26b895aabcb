import type { SQLOutputValue } from "node:sqlite";
import type { Fields } from "../../port/applyUpdate.ts";
import type { CollectionName } from "../../port/documents.ts";
import { columnsOf } from "./columns.ts";
import { textDecoder } from "./documentText.ts";

/** A row as SQLite gives it, by the names of its columns. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** What a query takes of each row. */
export interface Selection<R> {
  /** What stands between SELECT and FROM. */
  readonly sql: string;
  readonly decode: (row: Row) => R;
  /** Length of the text that `decode` has to parse. */
  readonly bytes: (row: Row) => number;
}

/** The whole document. */
export const documentSelection = <D>(collection: CollectionName, ofAnyVersion = false): Selection<D> => {
  const decode = textDecoder<D>(collection, ofAnyVersion);
  return { sql: "doc", decode: ({ doc }) => decode(doc as string), bytes: ({ doc }) => (doc as string).length };
};

/** The id and these fields, without the document: they have to stand in columns, and be no Date. */
export const fieldSelection = <R>(collection: CollectionName, fields: readonly string[]): Selection<R> => {
  for (const field of fields) if (!columnsOf(collection).includes(field)) throw new TypeError(`${field} stands in no column`);
  return {
    sql: ["id AS _id", ...fields.map((field) => `"${field}"`)].join(", "),
    decode: (row) => {
      const found: Fields = { _id: row._id };
      for (const field of fields) if (row[field] !== null) found[field] = row[field];
      return found as R;
    },
    bytes: () => 0,
  };
};
