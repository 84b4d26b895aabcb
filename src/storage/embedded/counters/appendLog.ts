import {
  close,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncate,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  write,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { StoreUnavailableError } from "../../port/errors.ts";
import { syncDirectory } from "../syncDirectory.ts";
import { decodeRecords, encodeRecord, headOf, type LogRecord, MOST_HEAD_BYTES, readHead } from "./logRecords.ts";

/** A file to which records are appended; each is on disk, not only with the operating system, before it counts. */
export interface AppendLog {
  /**
   * All whole records, in their order. One that was cut off by a crash, and so never acknowledged, ends them;
   * `onRest` hears how many bytes there are from it on.
   */
  readonly read: (onRest?: (bytes: number) => void) => Generator<LogRecord, void>;
  /** One at a time, once the log is empty. Rejects with `StoreUnavailableError`; the next record then takes the place of this one. */
  readonly append: (record: LogRecord) => Promise<void>;
  /** Leaves the head, which names the store. */
  readonly clear: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Makes the file, for its owner only, when it is missing. @param store the id of the store, which it names from then on. */
export const openAppendLog = (file: string, store: string): AppendLog => {
  const { O_RDWR, O_CREAT } = constants;
  // Not every system knows it; there each write is followed by a call that waits for the disk.
  const syncsItself: number | undefined = constants.O_DSYNC;
  const descriptor = openSync(file, O_RDWR | O_CREAT | (syncsItself ?? 0), 0o600);
  const head = encodeRecord(headOf(store));
  // One of an earlier version has no head before it is cleared.
  const beginning = Buffer.alloc(MOST_HEAD_BYTES);
  let start = readHead(beginning.subarray(0, readSync(descriptor, beginning, 0, MOST_HEAD_BYTES, 0)))?.end ?? 0;
  const begin = (): void => {
    ftruncateSync(descriptor, start);
    if (start === 0) writeSync(descriptor, head, 0, head.length, 0);
    fdatasyncSync(descriptor);
    start = head.length;
  };
  if (fstatSync(descriptor).size === 0) begin();
  syncDirectory(dirname(file));
  let end = start;
  let isClosed = false;

  const unavailable = (cause: Error): StoreUnavailableError =>
    new StoreUnavailableError(`the embedded store cannot write: ${cause.message}`, { cause, outcomeUnknown: true });

  const writeAll = (bytes: Buffer, from: number, done: (error: Error | null) => void): void => {
    write(descriptor, bytes, from, bytes.length - from, end + from, (error, written) => {
      if (error !== null) done(error);
      else if (from + written < bytes.length) writeAll(bytes, from + written, done);
      else if (syncsItself === undefined) fdatasync(descriptor, done);
      else done(null);
    });
  };

  return {
    read: (onRest) => decodeRecords(readFileSync(file), start, { onRest }),
    append: (record) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(new StoreUnavailableError("the embedded store is closed"));
        const bytes = encodeRecord(record);
        writeAll(bytes, 0, (error) => {
          if (error !== null) return reject(unavailable(error));
          end += bytes.length;
          resolve();
        });
      }),
    clear: async () => {
      if (isClosed) throw new StoreUnavailableError("the embedded store is closed");
      try {
        if (start === 0) begin();
        await promisify(ftruncate)(descriptor, start);
        await promisify(fdatasync)(descriptor);
      } catch (error) {
        throw unavailable(error as Error);
      }
      end = start;
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await promisify(close)(descriptor);
    },
  };
};
