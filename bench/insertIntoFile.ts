import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { columnsOf, columnValues } from "../src/storage/embedded/sqlite/columns.ts";
import { toText } from "../src/storage/embedded/sqlite/documentText.ts";
import { createMissing } from "../src/storage/embedded/sqlite/schema.ts";
import type { Fields } from "../src/storage/port/applyUpdate.ts";
import type { KeyDocument } from "../src/storage/port/documents.ts";
import { indexes } from "../src/storage/port/indexes.ts";

/** Adds new keys. */
export type InsertKeys = (keys: readonly KeyDocument[]) => Promise<void>;

/** Sorting for an index takes room in memory, or else a file for each of its parts. */
const CACHE_KB = 1_000_000;

/**
 * Adds keys to the file of an embedded store that nobody has open: without its indexes, which are made anew of all keys at the
 * end, and without waiting for the disk. The store itself takes ten times as long for ten million, since each key goes to
 * another place of some index. What a crash leaves of the file is of no use.
 */
export const insertIntoFile = async <T>(dataDir: string, use: (insert: InsertKeys) => Promise<T>): Promise<T> => {
  const database = new DatabaseSync(join(dataDir, "latchkey.sqlite"));
  try {
    database.exec(`PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-${CACHE_KB}; PRAGMA threads=2; BEGIN`);
    for (const { collection, name } of indexes) if (collection === "keys") database.exec(`DROP INDEX IF EXISTS "keys.${name}"`);
    const insertion = database.prepare(
      `INSERT INTO keys VALUES (?, ${columnsOf("keys")
        .map(() => "?")
        .join(", ")}, ?)`,
    );
    const result = await use(async (keys) => {
      for (const key of keys) {
        const fields = key as unknown as Fields;
        insertion.run(key._id, ...columnValues("keys", fields), toText(fields));
      }
    });
    createMissing(database, "keys");
    database.exec("COMMIT; PRAGMA journal_mode=WAL");
    return result;
  } finally {
    database.close();
  }
};
