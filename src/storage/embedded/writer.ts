/** The thread that owns the writing connection: an fsync or a checkpoint stalls nobody but the writes that wait for it. */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { writeExecutor } from "./executeWrite.ts";
import type { BatchReply, WriteOperation, WriterSettings } from "./messages.ts";

const { file, patience } = workerData as WriterSettings;
const database = new DatabaseSync(file, { timeout: patience });
/**
 * Pages that wait to be copied from the log into the file: one that changes again until then is copied once. The commit
 * that comes to so many copies them, so there must not be more than a slow disk writes within an operation's time.
 */
const CHECKPOINT_PAGES = 2_000;
/** Bytes that the log keeps on disk. */
const LOG_BYTES = 64 * 1024 ** 2;

database.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16000");
database.exec(`PRAGMA wal_autocheckpoint=${CHECKPOINT_PAGES}; PRAGMA journal_size_limit=${LOG_BYTES}`);
const execute = writeExecutor(database);

const unavailable = (error: unknown, outcomeUnknown: boolean): BatchReply => {
  // SQLite has ended the transaction by itself after some errors.
  if (database.isTransaction) database.exec("ROLLBACK");
  return { unavailable: { message: error instanceof Error ? error.message : String(error), outcomeUnknown } };
};

const commit = (operations: readonly WriteOperation[]): BatchReply => {
  let results: BatchReply;
  try {
    database.exec("BEGIN IMMEDIATE");
    results = { results: operations.map(execute) };
  } catch (error) {
    return unavailable(error, false);
  }
  try {
    database.exec("COMMIT");
    return results;
  } catch (error) {
    // What reached the disk before it failed may still count after a crash.
    return unavailable(error, true);
  }
};

parentPort?.on("message", (operations: readonly WriteOperation[] | "close") => {
  if (operations !== "close") {
    parentPort?.postMessage(commit(operations));
    return;
  }
  database.close();
  parentPort?.close();
});
