import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { CollectionName } from "../port/documents.ts";
import type { SystemDocument } from "../port/internalDocuments.ts";
import { decodeRecords, MOST_HEAD_BYTES, readHead } from "./counters/logRecords.ts";
import { documentTextOf, replayEntries, type StoredCounter } from "./counters/storedCounter.ts";
import { refuseDamage } from "./damage/findings.ts";
import { isServerLockTaken } from "./serverLock.ts";
import { readStored } from "./sqlite/documentText.ts";
import { filesIn } from "./storeFiles.ts";

/** All that an embedded store holds at one moment, whatever is written to it meanwhile. */
export interface StoreSnapshot {
  /** The database, for messages. */
  readonly file: string;
  /** Of `_id: "schema"`; null where no service, command or restore has made the store yet. */
  readonly schema: SystemDocument | null;
  readonly count: (collection: CollectionName) => number;
  /** The texts of a collection's documents, see `toText`: in any order, those of the audit log in the order of the log. */
  readonly texts: (collection: CollectionName) => Generator<string, void>;
  readonly close: () => void;
}

/** Far more than a journal under load needs: it is rotated once in many thousands of entries. */
const MOST_ATTEMPTS = 20;
/** Of a record: its length, checksum and number. */
const RECORD_HEADER = 16;

const bytesOf = (file: string): Buffer => (existsSync(file) ? readFileSync(file) : Buffer.alloc(0));

/** How a log begins: otherwise once it was cleared, and written to again. */
const beginningOf = (file: string): string => {
  if (!existsSync(file)) return "";
  const bytes = Buffer.alloc(MOST_HEAD_BYTES + RECORD_HEADER);
  const descriptor = openSync(file, "r");
  const found = bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, 0));
  closeSync(descriptor);
  const start = readHead(found)?.end ?? 0;
  return found.toString("hex", start, start + RECORD_HEADER);
};

/** What the journal says. */
const readJournal = ([one, another]: readonly [Buffer, Buffer]): Map<string, StoredCounter> => {
  const found = new Map<string, StoredCounter>();
  const logOf = (bytes: Buffer) => ({
    read: (onRest?: (bytes: number) => void) => decodeRecords(bytes, readHead(bytes)?.end ?? 0, { onRest }),
  });
  replayEntries([logOf(one), logOf(another)], (key, state) => found.set(key, state));
  return found;
};

/** The tables of a database, which is read as of this moment until it is closed. */
const beginReading = (database: DatabaseSync): ReadonlySet<unknown> => {
  database.exec("BEGIN");
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type='table'").all();
  return new Set(tables.map(({ name }) => name));
};

/**
 * Begins to read the database, and reads the journal. It comes second, so that it says nothing that the table has later. What leaves it
 * goes into the table first, and is missing from both where that is between the two: then its logs begin otherwise than before.
 */
const beginWithJournal = (
  database: DatabaseSync,
  logs: readonly [string, string],
): { readonly tables: ReadonlySet<unknown>; readonly journal: ReadonlyMap<string, StoredCounter> } => {
  const beginnings = (): string => logs.map(beginningOf).join();
  let before = beginnings();
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const tables = beginReading(database);
    const journal = [bytesOf(logs[0]), bytesOf(logs[1])] as const;
    const after = beginnings();
    if (before === after) return { tables, journal: readJournal(journal) };
    before = after;
    database.exec("ROLLBACK");
  }
  throw new Error(`${logs.join(" and ")} change faster than they can be read: try again when there is less load`);
};

/**
 * Looks at the embedded store of a directory as it is at this moment, beside a service as well: nothing waits for it, but while it is
 * open the log of SQLite grows by what is written. Throws `StoreDamagedError` where files do not fit each other, and an error where there
 * is no store. Whether this version can use what is there is left to who asks: see `refuseUnusable`.
 */
export const openSnapshot = (directory: string): StoreSnapshot => {
  const files = filesIn(directory);
  refuseDamage(files, () => isServerLockTaken(files.lock));
  if (!existsSync(files.database)) throw new Error(`there is no store in ${directory}: set DATA_DIR to where it is, as for the service`);
  const database = new DatabaseSync(files.database, { readOnly: true, timeout: 5000 });
  try {
    const { tables, journal } = beginWithJournal(database, files.logs);
    const row = tables.has("system") ? database.prepare("SELECT doc FROM system WHERE id='schema'").get() : undefined;

    const counters = function* (): Generator<string, void> {
      for (const { id, doc } of database.prepare("SELECT id, doc FROM counters").iterate()) if (!journal.has(String(id))) yield String(doc);
      for (const [key, state] of journal) yield documentTextOf(key, state);
    };

    return {
      file: files.database,
      schema: row === undefined ? null : (readStored("system", String(row.doc)) as unknown as SystemDocument),
      count: (collection) =>
        tables.has(collection) ? Number(database.prepare(`SELECT count(*) AS count FROM "${collection}"`).get()?.count) : 0,
      texts: function* (collection) {
        if (!tables.has(collection)) return;
        if (collection === "counters") return yield* counters();
        // Other orders than that of the table make SQLite look up each row.
        const order = collection === "audit" ? " ORDER BY workspaceId, sequence" : "";
        for (const { doc } of database.prepare(`SELECT doc FROM "${collection}"${order}`).iterate()) yield String(doc);
      },
      close: () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
};
