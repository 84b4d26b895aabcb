import { isUtf8 } from "node:buffer";
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { collectionNames } from "../sqlite/schema.ts";
import { lookInto } from "./evidence.ts";

/** Of a file that is damaged all over, the first lines tell enough. */
const MOST_LINES = 5;

/** The text in a row, as it was written; undefined for one that cannot be that. */
export const documentIn = (id: unknown, doc: unknown): string | undefined => {
  if (!(doc instanceof Uint8Array) || !isUtf8(doc)) return undefined;
  const text = Buffer.from(doc.buffer, doc.byteOffset, doc.byteLength).toString();
  try {
    return (JSON.parse(text) as { _id?: unknown } | null)?._id === id ? text : undefined;
  } catch {
    return undefined;
  }
};

/** Rows that are read at once: a service beside it cannot empty its log for as long. */
const ROWS = 500;

/** How many rows of a table hold no document. */
const brokenRows = (database: DatabaseSync, table: string, place: "rowid" | "id"): number => {
  const rows = database.prepare(
    `SELECT ${place} AS place, id, CAST(doc AS BLOB) AS doc FROM "${table}" WHERE ${place}>? ORDER BY ${place} LIMIT ${ROWS}`,
  );
  let broken = 0;
  let last: SQLOutputValue = place === "id" ? "" : Number.MIN_SAFE_INTEGER;
  for (;;) {
    const some = rows.all(last);
    for (const { id, doc } of some) if (documentIn(id, doc) === undefined) broken++;
    if (some.length < ROWS) return broken;
    last = some.at(-1)?.place as SQLOutputValue;
  }
};

/**
 * Reads all of a database, which takes a minute where it is large: every page, whether every index agrees with its table, and
 * whether every text is a document. Returns the first of what is wrong, undefined when nothing is.
 * @param isUsed by a service: then one table after the other, so that it can empty its log in between; pages of no table are left out.
 */
export const damageIn = (file: string, isUsed: boolean): string | undefined => {
  const found = lookInto(file, (database) => {
    const tables = new Map(
      database
        .prepare("SELECT name, wr FROM pragma_table_list WHERE schema='main' AND type='table'")
        .all()
        .map(({ name, wr }) => [String(name), wr === 1 ? "id" : "rowid"] as const),
    );
    for (const part of isUsed ? [...tables.keys()].map((name) => `"${name}"`) : [MOST_LINES]) {
      const lines = database.prepare(`PRAGMA integrity_check(${part})`).all();
      // "*** in database main ***\nTree 12 page 34: …\n…"
      const [first] = lines.flatMap((line) => String(Object.values(line)[0]).split("\n")).filter((line) => !line.startsWith("***"));
      if (first !== undefined && first !== "ok") return { unreadable: first };
    }
    for (const collection of collectionNames) {
      const place = tables.get(collection);
      const broken = place === undefined ? 0 : brokenRows(database, collection, place);
      if (broken > 0) return { unreadable: `${broken} ${broken === 1 ? "row" : "rows"} of ${collection} hold no document` };
    }
    return undefined;
  });
  return found?.unreadable;
};
