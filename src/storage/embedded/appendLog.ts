import { close, closeSync, constants, fdatasync, fsyncSync, ftruncate, openSync, readFileSync, write } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import { StoreUnavailableError } from "../errors.ts";

/** One record of a log. */
export interface LogRecord {
  /** Tells the order of the records of several logs. One whose writing failed may be there after all, so none is used twice. */
  readonly number: number;
  readonly text: string;
}

/** A file to which records are appended; each is on disk, not only with the operating system, before it counts. */
export interface AppendLog {
  /**
   * All whole records, in their order. One that was cut off by a crash, and so never acknowledged, ends them;
   * `onRest` hears how many bytes there are from it on.
   */
  readonly read: (onRest?: (bytes: number) => void) => Generator<LogRecord, void>;
  /** One at a time, once the log is empty. Rejects with `StoreUnavailableError`; the next record then takes the place of this one. */
  readonly append: (record: LogRecord) => Promise<void>;
  readonly clear: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Bytes of the text (u32), checksum of all that follows it (u32), number (f64), all little-endian; then the text. */
const HEADER = { length: 0, checksum: 4, number: 8, size: 16 } as const;

const encode = ({ number, text }: LogRecord): Buffer => {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(HEADER.size + length);
  bytes.writeUInt32LE(length, HEADER.length);
  bytes.writeDoubleLE(number, HEADER.number);
  bytes.write(text, HEADER.size);
  bytes.writeUInt32LE(crc32(bytes.subarray(HEADER.number)), HEADER.checksum);
  return bytes;
};

const decode = function* (bytes: Buffer, onRest?: (bytes: number) => void): Generator<LogRecord, void> {
  let at = 0;
  while (at + HEADER.size <= bytes.length) {
    const end = at + HEADER.size + bytes.readUInt32LE(at + HEADER.length);
    if (end > bytes.length || crc32(bytes.subarray(at + HEADER.number, end)) !== bytes.readUInt32LE(at + HEADER.checksum)) break;
    yield { number: bytes.readDoubleLE(at + HEADER.number), text: bytes.toString("utf8", at + HEADER.size, end) };
    at = end;
  }
  if (at < bytes.length) onRest?.(bytes.length - at);
};

/** So that a file which was made a moment ago is still there after the machine has lost power. */
const syncDirectory = (directory: string): void => {
  try {
    const descriptor = openSync(directory, "r");
    fsyncSync(descriptor);
    closeSync(descriptor);
  } catch {
    // Not every system can open a directory; one that cannot needs no such thing.
  }
};

/** Makes the file, for its owner only, when it is missing. */
export const openAppendLog = (file: string): AppendLog => {
  const { O_RDWR, O_CREAT } = constants;
  // Not every system knows it; there each write is followed by a call that waits for the disk.
  const syncsItself: number | undefined = constants.O_DSYNC;
  const descriptor = openSync(file, O_RDWR | O_CREAT | (syncsItself ?? 0), 0o600);
  syncDirectory(dirname(file));
  let end = 0;
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
    read: (onRest) => decode(readFileSync(file), onRest),
    append: (record) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(new StoreUnavailableError("the embedded store is closed"));
        const bytes = encode(record);
        writeAll(bytes, 0, (error) => {
          if (error !== null) return reject(unavailable(error));
          end += bytes.length;
          resolve();
        });
      }),
    clear: async () => {
      if (isClosed) throw new StoreUnavailableError("the embedded store is closed");
      try {
        await promisify(ftruncate)(descriptor, 0);
        await promisify(fdatasync)(descriptor);
      } catch (error) {
        throw unavailable(error as Error);
      }
      end = 0;
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await promisify(close)(descriptor);
    },
  };
};
