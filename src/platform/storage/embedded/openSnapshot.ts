import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../port/baseDocument.ts";
import type { CollectionName } from "../port/documents.ts";
import type { SystemDocument } from "../port/internalDocuments.ts";
import { readOldCounters } from "./counters/importOldCounters.ts";
import { refuseMissingState } from "./damage/findDamage.ts";
import { readStored, toText } from "./sqlite/documentText.ts";
import { openDatabase } from "./sqlite/openDatabase.ts";
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

/** The tables of a database, which is read as of this moment until it is closed. */
const beginReading = (database: DatabaseSync): ReadonlySet<unknown> => {
  database.exec("BEGIN");
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type='table'").all();
  return new Set(tables.map(({ name }) => name));
};

/** The counters as of this moment; undefined where there are none, also in a file that the next start will replace. */
const openCounters = (file: string): DatabaseSync | undefined => {
  let database: DatabaseSync | undefined;
  try {
    if (!existsSync(file)) return undefined;
    database = openDatabase(file, { readOnly: true });
    if (beginReading(database).has("counters")) return database;
  } catch {
    // Derived, so no reason to have no backup.
  }
  database?.close();
  return undefined;
};

const counterText = ({ key, seq, current, previous, expireAt }: Record<string, unknown>): string =>
  toText({ _id: key, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, seq, current, previous, expireAt });

/**
 * Looks at the embedded store of a directory as it is at this moment, also next to a service: nothing waits for it, but while it is
 * open the logs of SQLite grow by what is written. Throws `StoreDamagedError` where the state file is damaged or missing, and an error
 * where there is no store. Whether this version can use what is there is left to the caller: see `refuseUnusable`.
 */
export const openSnapshot = (directory: string): StoreSnapshot => {
  const files = filesIn(directory);
  refuseMissingState(files);
  if (!existsSync(files.database)) throw new Error(`there is no store in ${directory}: set DATA_DIR to where it is, as for the service`);
  const database = openDatabase(files.database, { readOnly: true });
  let counterFile: DatabaseSync | undefined;
  const close = (): void => {
    counterFile?.close();
    database.close();
  };
  try {
    const tables = beginReading(database);
    // Second: every count that was acknowledged before the state was read is in it.
    counterFile = openCounters(files.counters);
    const old = tables.has("counters") ? readOldCounters(directory, database) : new Map();
    const row = tables.has("system") ? database.prepare("SELECT doc FROM system WHERE id='schema'").get() : undefined;

    const counters = function* (): Generator<string, void> {
      const isMoved = counterFile?.prepare("SELECT 1 FROM counters WHERE key=?");
      for (const [key, counter] of old) if (isMoved?.get(key) === undefined) yield counterText({ key, ...counter });
      for (const counter of counterFile?.prepare("SELECT key, seq, current, previous, expireAt FROM counters").iterate() ?? []) {
        yield counterText(counter);
      }
    };
    const countOf = (from: DatabaseSync, name: string): number =>
      Number(from.prepare(`SELECT count(*) AS count FROM "${name}"`).get()?.count);

    return {
      file: files.database,
      schema: row === undefined ? null : (readStored("system", String(row.doc)) as unknown as SystemDocument),
      count: (collection) => {
        if (collection === "counters") return old.size + (counterFile === undefined ? 0 : countOf(counterFile, "counters"));
        return tables.has(collection) ? countOf(database, collection) : 0;
      },
      texts: function* (collection) {
        if (collection === "counters") return yield* counters();
        if (!tables.has(collection)) return;
        // Other orders than that of the table make SQLite look up each row.
        const order = collection === "audit" ? " ORDER BY workspaceId, sequence" : "";
        for (const { doc } of database.prepare(`SELECT doc FROM "${collection}"${order}`).iterate()) yield String(doc);
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
};
