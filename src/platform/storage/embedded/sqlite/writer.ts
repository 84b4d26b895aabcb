/**
 * The thread that owns the writing connection: an fsync or a checkpoint stalls nobody but the writes that wait for it. It
 * serves one file after the other.
 */
import { DatabaseSync } from "node:sqlite";
import { parentPort } from "node:worker_threads";
import { systemClock } from "../../../base/clock.ts";
import { damaged, executeBatch, rollBack } from "./executeBatch.ts";
import { writeExecutor } from "./executeWrite.ts";
import type { BatchReply, ToWriter, WriteOperation, WriteResult, WriterReply, WriterSettings } from "./messages.ts";
import { isBusy, isDamage, messageOf } from "./sqliteErrors.ts";

/** An operation has three seconds: a disk that takes a third of it for a commit is worth a line in the log. */
const SLOW_COMMIT = 1_000;
/**
 * Bytes that wait to be copied from the log into the file: a page that changes again until then is copied once. The commit
 * that comes to so many copies them, so there must not be more than a slow disk writes within an operation's time.
 */
const CHECKPOINT_BYTES = 8 * 1024 ** 2;
/** Bytes that the log keeps on disk. */
const LOG_BYTES = 64 * 1024 ** 2;

interface Writer {
  readonly commit: (operations: readonly WriteOperation[]) => BatchReply;
  readonly close: () => void;
}

const openWriter = ({ file, patience, syncWithin, slowCommit = SLOW_COMMIT }: WriterSettings): Writer => {
  const database = new DatabaseSync(file, { timeout: patience });
  database.exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=${syncWithin === undefined ? "FULL" : "NORMAL"}; PRAGMA cache_size=-16000`);
  // What is deleted or replaced is overwritten: freed pages would keep it for as long as nothing else needs them.
  database.exec("PRAGMA secure_delete=ON");
  const pageSize = Number(database.prepare("PRAGMA page_size").get()?.page_size);
  database.exec(`PRAGMA wal_autocheckpoint=${CHECKPOINT_BYTES / pageSize}; PRAGMA journal_size_limit=${LOG_BYTES}`);
  const execute = writeExecutor(database);

  let syncing: NodeJS.Timeout | undefined;
  /** A commit that waits for the disk has it write everything before it, too. */
  const sync = (): void => {
    syncing = undefined;
    try {
      database.exec("PRAGMA synchronous=FULL; PRAGMA user_version=1; PRAGMA synchronous=NORMAL");
    } catch {
      // The next commit reports what is wrong with the disk.
    }
  };

  const unavailable = (error: unknown, outcomeUnknown: boolean): BatchReply => {
    rollBack(database);
    return { unavailable: { message: messageOf(error), outcomeUnknown, tooSlow: isBusy(error) } };
  };

  /** Copies the log into the file and empties it; false when somebody reads. At once: all writes would wait for a reader that stays. */
  const emptyLog = (): boolean => {
    database.exec("PRAGMA busy_timeout=0");
    try {
      return database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy === 0;
    } finally {
      database.exec(`PRAGMA busy_timeout=${patience}`);
    }
  };

  const commit = (operations: readonly WriteOperation[]): BatchReply => {
    let results: readonly WriteResult[];
    try {
      results = executeBatch(database, operations, execute);
    } catch (error) {
      if (isDamage(error)) return { results: operations.map(() => damaged(error)) };
      return unavailable(error, false);
    }
    // The disk's part of the work, that of the checkpoint included which some commits have to make.
    const began = systemClock.monotonic();
    try {
      database.exec("COMMIT");
      if (operations.some(({ kind }) => kind === "emptyLog")) {
        const modified = emptyLog() ? 1 : 0;
        results = results.map((result, i) => (operations[i]?.kind === "emptyLog" ? { ...result, modified } : result));
      }
    } catch (error) {
      // What reached the disk before it failed may still count after a crash.
      return unavailable(error, true);
    }
    const took = systemClock.monotonic() - began;
    if (syncWithin !== undefined) syncing ??= setTimeout(sync, syncWithin);
    return took < slowCommit ? { results } : { results, slowMs: took };
  };

  return {
    commit,
    close: () => {
      clearTimeout(syncing);
      database.close();
    },
  };
};

let writer: Writer | undefined;

const reply = (message: WriterReply): void => parentPort?.postMessage(message);

parentPort?.on("message", (message: ToWriter) => {
  if (message === "close") {
    const last = writer;
    // Nothing of it is kept while the thread waits for another file.
    writer = undefined;
    last?.close();
    reply("closed");
  } else if ("open" in message) writer = openWriter(message.open);
  else if (writer !== undefined) reply(writer.commit(message));
});
