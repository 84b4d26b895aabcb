import { existsSync, renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { StoreLog } from "../../port/storeLog.ts";
import { messageOf } from "../sqlite/sqliteErrors.ts";
import { nameStore, readStoreId } from "../sqlite/storeRow.ts";
import { createPrivately, databaseFiles, sizeOf } from "../storeFiles.ts";
import { createCounterTable } from "./counterTable.ts";

/** How long another process that writes to the file is waited for, in milliseconds. */
const PATIENCE_MS = 2_000;

/** Throws for a file that is damaged, of another store, or has a table of another form. */
const open = (file: string, store: string): DatabaseSync => {
  createPrivately(file);
  const database = new DatabaseSync(file, { timeout: PATIENCE_MS });
  try {
    // A commit writes whole pages, and the counters of one commit are on as many pages as there are counters.
    database.exec("PRAGMA page_size=1024; PRAGMA journal_mode=WAL");
    createCounterTable(database);
    nameStore(database, store);
    if (readStoreId(database) !== store) throw new Error("it is of another store");
    database.prepare("SELECT key, seq, current, previous, expireAt FROM counters LIMIT 0").all();
    const { quick_check: found } = database.prepare("PRAGMA quick_check(1)").get() ?? {};
    if (found !== "ok") throw new Error(String(found));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

/**
 * Opens the file of rate limit counters for writing. Everything in it is derived: one that cannot be used is set aside as
 * `….damaged`, a new one takes its place, and a warning says so.
 * @param store the id of the store that the counters belong to
 * @param isExpected the store had such a file before
 */
export const openCounterFile = (
  file: string,
  store: string,
  { isExpected, log }: { readonly isExpected: boolean; readonly log?: StoreLog | undefined },
): DatabaseSync => {
  try {
    if (isExpected && (sizeOf(file) ?? 0) === 0) throw new Error("it is missing or empty");
    return open(file, store);
  } catch (error) {
    const aside = `${file}.damaged`;
    for (const part of databaseFiles(aside)) rmSync(part, { recursive: true, force: true });
    for (const part of databaseFiles(file)) if (existsSync(part)) renameSync(part, `${aside}${part.slice(file.length)}`);
    log?.warn(
      { file, reason: messageOf(error) },
      "the file of rate limit counters was made again: in windows that still run, limits may be used once more",
    );
    return open(file, store);
  }
};
