import { closeSync, copyFileSync, openSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Fields } from "../../port/applyUpdate.ts";
import type { CollectionName } from "../../port/documents.ts";
import { columnsOf, columnValues } from "../sqlite/columns.ts";
import { collectionNames, createMissing } from "../sqlite/schema.ts";
import { isDamage, messageOf } from "../sqlite/sqliteErrors.ts";
import { nameStore, readStoreRow, type StoreRow } from "../sqlite/storeRow.ts";
import { createPrivately, removeDatabase, sizeOf } from "../storeFiles.ts";
import { lookInto } from "./evidence.ts";
import { documentIn } from "./integrity.ts";

/** Rows of one collection. */
export interface Salvaged {
  readonly collection: CollectionName;
  readonly kept: number;
  /** Those that an index knows, and nobody can read. */
  readonly lost: number;
}

/** What `read` gives until it meets damage. */
const untilDamage = <T>(read: () => Iterable<T>, take: (item: T) => void): void => {
  try {
    for (const item of read()) take(item);
  } catch (error) {
    if (!isDamage(error)) throw error;
  }
};

/** From both ends of the table and of its index, since each way ends where it meets damage; then row by row what the index knows. */
const salvageRows = (from: DatabaseSync, into: DatabaseSync, collection: CollectionName, target: string): Salvaged => {
  writing(target, () => createMissing(into, collection));
  const columns = ["id", "doc", ...columnsOf(collection).map((field) => `"${field}"`)];
  const insertion = into.prepare(`INSERT OR IGNORE INTO "${collection}" (${columns.join()}) VALUES (${columns.map(() => "?").join()})`);
  const known = new Set<string>();
  const broken = new Set<string>();
  let kept = 0;
  const keep = (row: Record<string, unknown>): void => {
    const id = String(row.id);
    const text = documentIn(row.id, row.doc);
    if (text === undefined) {
      broken.add(id);
      return;
    }
    known.add(id);
    const values = columnValues(collection, JSON.parse(text) as Fields);
    kept += Number(writing(target, () => insertion.run(id, text, ...values)).changes);
  };
  const rows = `SELECT id, CAST(doc AS BLOB) AS doc FROM "${collection}"`;
  const table = from.prepare("SELECT wr FROM pragma_table_list WHERE name=?").get(collection);
  for (const order of [...(table?.wr === 1 ? [] : ["rowid", "rowid DESC"]), "id", "id DESC"]) {
    untilDamage(() => from.prepare(`${rows} ORDER BY ${order}`).iterate(), keep);
  }
  const listed = new Set<string>();
  for (const order of ["id", "id DESC"]) {
    const ids = () => from.prepare(`SELECT id FROM "${collection}" ORDER BY ${order}`).iterate();
    untilDamage(ids, ({ id }) => typeof id === "string" && !known.has(id) && listed.add(id));
  }
  for (const id of listed) untilDamage(() => from.prepare(`${rows} WHERE id=?`).all(id), keep);
  return { collection, kept, lost: listed.union(broken).union(known).size - kept };
};

const PAGE = 4096;
const SCHEMA_FORMAT = 4;
const UTF_8 = 1;
/** The first bytes of every database of ours, up to the first number that changes. Without them nothing can be read. */
const HEADER = Buffer.from("SQLite format 3\0\x10\x00\x02\x02\x00\x40\x20\x20", "latin1");

/** Makes a copy whose first bytes are what they must have been; the rest of them is counted anew. */
const copyWithNewHeader = (file: string, copy: string): void => {
  copyFileSync(file, copy);
  if (sizeOf(`${file}-wal`) !== undefined) copyFileSync(`${file}-wal`, `${copy}-wal`);
  const fields = Buffer.alloc(100 - HEADER.length);
  const changes = 1;
  const version = 1;
  fields.writeUInt32BE(changes, 0);
  fields.writeUInt32BE(Math.floor((sizeOf(copy) ?? 0) / PAGE), 4);
  fields.writeUInt32BE(version, 16);
  fields.writeUInt32BE(SCHEMA_FORMAT, 20);
  fields.writeUInt32BE(UTF_8, 32);
  fields.writeUInt32BE(changes, 68);
  const descriptor = openSync(copy, "r+");
  writeSync(descriptor, Buffer.concat([HEADER, fields]), 0, 100, 0);
  closeSync(descriptor);
};

/** Whatever fails in the new file is no fault of the old one. */
const writing = <T>(target: string, write: () => T): T => {
  try {
    return write();
  } catch (error) {
    throw new Error(`${target} cannot be written: ${messageOf(error)}`, { cause: error });
  }
};

/**
 * Makes a new database, whole and on disk, of what can still be read of a damaged one, which it leaves as it is. Where it fails, nothing stays.
 * @param row of the new one; where the old one's can be read, its store, and at least as many commits.
 */
export const salvage = (file: string, target: string, row: StoreRow): readonly Salvaged[] => {
  const copy = `${target}.copy`;
  removeDatabase(copy);

  /** Begins anew: rows of an attempt before would count as lost. */
  const attempt = (source: string): readonly Salvaged[] | undefined => {
    removeDatabase(target);
    createPrivately(target, file);
    const into = new DatabaseSync(target);
    const name = (store: string, commits: number): void =>
      writing(target, () => {
        nameStore(into, store);
        into.prepare("UPDATE store SET commits=?").run(commits + 1);
      });
    const read = (from: DatabaseSync): readonly Salvaged[] => {
      const tables = new Set(
        from
          .prepare("SELECT name FROM sqlite_schema WHERE type='table'")
          .all()
          .map((table) => table.name),
      );
      untilDamage(
        () => [readStoreRow(from)],
        (old) => old && name(old.store, Math.max(row.commits, old.commits)),
      );
      return collectionNames
        .filter((collection) => tables.has(collection))
        .map((collection) => salvageRows(from, into, collection, target));
    };
    try {
      writing(target, () => into.exec("BEGIN"));
      const salvaged = lookInto(source, read);
      if (readStoreRow(into) === undefined) name(row.store, row.commits);
      writing(target, () => into.exec("COMMIT; PRAGMA journal_mode=WAL"));
      return "unreadable" in salvaged ? undefined : salvaged;
    } finally {
      into.close();
    }
  };

  try {
    const salvaged = attempt(file);
    if (salvaged !== undefined) return salvaged;
    copyWithNewHeader(file, copy);
    return attempt(copy) ?? [];
  } catch (error) {
    removeDatabase(target);
    throw error;
  } finally {
    removeDatabase(copy);
  }
};
