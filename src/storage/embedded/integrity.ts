import { isUtf8 } from "node:buffer";
import { lookInto } from "./evidence.ts";
import { collectionNames } from "./schema.ts";

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

/**
 * Reads all of a database, which takes a minute where it is large: every page, whether every index agrees with its table, and
 * whether every text is a document. Returns the first of what is wrong, undefined when nothing is.
 */
export const damageIn = (file: string): string | undefined => {
  const found = lookInto(file, (database) => {
    const lines = database.prepare(`PRAGMA integrity_check(${MOST_LINES})`).all();
    // "*** in database main ***\nTree 12 page 34: …\n…"
    const [first] = lines.flatMap((line) => String(Object.values(line)[0]).split("\n")).filter((line) => !line.startsWith("***"));
    if (first !== undefined && first !== "ok") return { unreadable: first };
    const tables = new Set(
      database
        .prepare("SELECT name FROM sqlite_schema WHERE type='table'")
        .all()
        .map(({ name }) => name),
    );
    for (const collection of collectionNames) {
      if (!tables.has(collection)) continue;
      let broken = 0;
      const rows = database.prepare(`SELECT id, CAST(doc AS BLOB) AS doc FROM "${collection}"`).iterate();
      for (const { id, doc } of rows) if (documentIn(id, doc) === undefined) broken++;
      if (broken > 0) return { unreadable: `${broken} ${broken === 1 ? "row" : "rows"} of ${collection} hold no document` };
    }
    return undefined;
  });
  return found?.unreadable;
};
