import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { columnsOf, columnValues } from "../src/platform/storage/embedded/sqlite/columns.ts";
import { toText } from "../src/platform/storage/embedded/sqlite/documentText.ts";
import { createMissing } from "../src/platform/storage/embedded/sqlite/schema.ts";
import type { Fields } from "../src/platform/storage/port/applyUpdate.ts";
import type { CollectionName, Documents } from "../src/platform/storage/port/documents.ts";
import { indexes } from "../src/platform/storage/port/indexes.ts";

/** Adds new documents. */
export type InsertMany = <N extends CollectionName>(collection: N, documents: readonly Documents[N][]) => Promise<void>;

/** Sorting for an index takes room in memory, or else a file for each of its parts. */
const CACHE_KB = 1_000_000;

/**
 * Adds documents to the file of an embedded store that nobody has open: keys without their indexes, which are made anew of all keys at the
 * end, and without waiting for the disk. The store itself takes ten times as long for ten million, since each key goes to
 * another place of some index. What a crash leaves of the file is of no use.
 */
export const insertIntoFile = async <T>(dataDir: string, use: (insert: InsertMany) => Promise<T>): Promise<T> => {
  // Otherwise SQLite keeps its log, and all of the keys stand there before they come into the file.
  const database = new DatabaseSync(join(dataDir, "latchkey.sqlite"), { defensive: false });
  try {
    database.exec(`PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-${CACHE_KB}; PRAGMA threads=2; BEGIN`);
    for (const { collection, name } of indexes) if (collection === "keys") database.exec(`DROP INDEX IF EXISTS "keys.${name}"`);
    const insertion = (collection: CollectionName): StatementSync => {
      const places = columnsOf(collection).map(() => "?");
      return database.prepare(`INSERT INTO "${collection}" VALUES (?, ${[...places, "?"].join(", ")})`);
    };
    const insertions = new Map<CollectionName, StatementSync>();
    const result = await use(async (collection, documents) => {
      const prepared = insertions.get(collection) ?? insertion(collection);
      insertions.set(collection, prepared);
      for (const document of documents) {
        const fields = document as unknown as Fields;
        prepared.run(document._id, ...columnValues(collection, fields), toText(fields));
      }
    });
    createMissing(database, "keys");
    database.exec("COMMIT; PRAGMA journal_mode=WAL");
    return result;
  } finally {
    database.close();
  }
};
