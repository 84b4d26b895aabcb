import { existsSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { SCHEMA_VERSION } from "../port/baseDocument.ts";
import type { CollectionName } from "../port/documents.ts";
import type { SystemDocument } from "../port/internalDocuments.ts";
import { SchemaTooNewError } from "../schemaVersion.ts";
import { decodeRecords, readHead } from "./counters/logRecords.ts";
import { documentTextOf, replayEntries, type StoredCounter } from "./counters/storedCounter.ts";
import { refuseDamage } from "./damage/findings.ts";
import { isServerLockTaken } from "./serverLock.ts";
import { readStored } from "./sqlite/documentText.ts";
import { filesIn } from "./storeFiles.ts";

/** All that an embedded store holds at one moment, whatever is written to it meanwhile. */
export interface StoreSnapshot {
  /** Of `_id: "schema"`. */
  readonly schema: SystemDocument;
  readonly count: (collection: CollectionName) => number;
  /** The texts of a collection's documents, see `toText`: in the order of their ids, those of the audit log in the order of the log. */
  readonly texts: (collection: CollectionName) => Generator<string, void>;
  readonly close: () => void;
}

/** Counters change forwards: to a later window, or up within one but for budget that is given back. */
const isLater = (one: StoredCounter, another: StoredCounter): boolean =>
  one.seq > another.seq || (one.seq === another.seq && one.current >= another.current);

/** What the journal says, as it is on the disk now. */
const readJournal = (logs: readonly [string, string]): Map<string, StoredCounter> => {
  const found = new Map<string, StoredCounter>();
  const logOf = (file: string) => {
    const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
    return { read: (onRest?: (bytes: number) => void) => decodeRecords(bytes, readHead(bytes)?.end ?? 0, { onRest }) };
  };
  replayEntries([logOf(logs[0]), logOf(logs[1])], (key, state) => found.set(key, state));
  return found;
};

/**
 * Looks at the embedded store of a directory as it is at this moment, beside a service as well: nothing waits for it, but while it is
 * open the log of SQLite grows by what is written. Throws `StoreDamagedError` where files do not fit each other, `SchemaTooNewError`,
 * and an error where there is no store.
 */
export const openSnapshot = (directory: string): StoreSnapshot => {
  const files = filesIn(directory);
  refuseDamage(files, () => isServerLockTaken(files.lock));
  if (!existsSync(files.database)) throw new Error(`there is no store in ${directory}: set DATA_DIR to where it is, as for the service`);
  // Before the database: what leaves the journal meanwhile is in the table by then.
  const journal = readJournal(files.logs);
  const database = new DatabaseSync(files.database, { readOnly: true, timeout: 5000 });
  try {
    database.exec("BEGIN");
    const tables = new Set(
      database
        .prepare("SELECT name FROM sqlite_schema WHERE type='table'")
        .all()
        .map(({ name }) => name),
    );
    const row = tables.has("system") ? database.prepare("SELECT doc FROM system WHERE id='schema'").get() : undefined;
    if (row === undefined) throw new Error(`${files.database} holds no store yet: start the service once`);
    const schema = readStored("system", String(row.doc)) as unknown as SystemDocument;
    if ((schema.schema ?? 0) > SCHEMA_VERSION) throw new SchemaTooNewError(schema.schema ?? 0);

    const counters = function* (): Generator<string, void> {
      const later = new Map(journal);
      for (const { id, doc } of database.prepare("SELECT id, doc FROM counters ORDER BY id").iterate()) {
        const key = String(id);
        const logged = later.get(key);
        const isCurrent = logged !== undefined && isLater(logged, readStored("counters", String(doc)) as unknown as StoredCounter);
        if (isCurrent) continue;
        later.delete(key);
        yield String(doc);
      }
      for (const [key, state] of later) yield documentTextOf(key, state);
    };

    return {
      schema,
      count: (collection) =>
        tables.has(collection) ? Number(database.prepare(`SELECT count(*) AS count FROM "${collection}"`).get()?.count) : 0,
      texts: function* (collection) {
        if (!tables.has(collection)) return;
        if (collection === "counters") return yield* counters();
        const order = collection === "audit" ? "workspaceId, sequence" : "id";
        for (const { doc } of database.prepare(`SELECT doc FROM "${collection}" ORDER BY ${order}`).iterate()) yield String(doc);
      },
      close: () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
};
