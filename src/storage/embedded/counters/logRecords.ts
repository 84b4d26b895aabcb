import { crc32 } from "node:zlib";

/** One record of a log. */
export interface LogRecord {
  /**
   * Tells the order of the records of several logs: each has the next number. One whose writing failed may be there after
   * all, so none is used twice: the record behind it says after which one it comes.
   */
  readonly number: number;
  readonly text: string;
}

/** The first member of each record's list; others follow. */
export const JOURNAL_VERSION = 2;

/** Bytes of the text (u32), checksum of all that follows it (u32), number (f64), all little-endian; then the text. */
const HEADER = { length: 0, checksum: 4, number: 8, size: 16 } as const;

export const encodeRecord = ({ number, text }: LogRecord): Buffer => {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(HEADER.size + length);
  bytes.writeUInt32LE(length, HEADER.length);
  bytes.writeDoubleLE(number, HEADER.number);
  bytes.write(text, HEADER.size);
  bytes.writeUInt32LE(crc32(bytes.subarray(HEADER.number)), HEADER.checksum);
  return bytes;
};

/** Where the record that begins there ends; undefined unless a whole one does. */
const endOf = (bytes: Buffer, at: number): number | undefined => {
  if (at + HEADER.size > bytes.length) return undefined;
  const end = at + HEADER.size + bytes.readUInt32LE(at + HEADER.length);
  if (end > bytes.length || crc32(bytes.subarray(at + HEADER.number, end)) !== bytes.readUInt32LE(at + HEADER.checksum)) return undefined;
  return end;
};

/** Where the next whole record begins. */
const nextIn = (bytes: Buffer, from: number): number | undefined => {
  for (let text = bytes.indexOf("[", from + HEADER.size); text >= 0; text = bytes.indexOf("[", text + 1)) {
    if (endOf(bytes, text - HEADER.size) !== undefined) return text - HEADER.size;
  }
  return undefined;
};

export interface RecordListener {
  /** Bytes that are no record, with records behind them. */
  readonly onDamage?: ((bytes: number) => void) | undefined;
  /** Bytes at the end that are no whole record. */
  readonly onRest?: ((bytes: number) => void) | undefined;
}

/** All whole records from an offset on. What is none is skipped. */
export const decodeRecords = function* (bytes: Buffer, from: number, { onDamage, onRest }: RecordListener): Generator<LogRecord, void> {
  for (let at = from; at < bytes.length; ) {
    const end = endOf(bytes, at);
    if (end !== undefined) {
      yield { number: bytes.readDoubleLE(at + HEADER.number), text: bytes.toString("utf8", at + HEADER.size, end) };
      at = end;
      continue;
    }
    const next = nextIn(bytes, at + 1);
    if (next === undefined) {
      onRest?.(bytes.length - at);
      return;
    }
    onDamage?.(next - at);
    at = next;
  }
};

/** More than any head has. */
export const MOST_HEAD_BYTES = 256;

/** Its number is before that of all others. Versions that know of no head refuse it by the version in it. */
export const headOf = (store: string): LogRecord => ({ number: 0, text: `[${JOURNAL_VERSION},${JSON.stringify({ store })}]` });

/** The store that a log names and where the head ends; undefined where it names none. */
export const readHead = (bytes: Buffer): { readonly store: string; readonly end: number } | undefined => {
  const end = endOf(bytes, 0);
  if (end === undefined || bytes.readDoubleLE(HEADER.number) !== 0) return undefined;
  const store = /^\[\d+,\{"store":"(\w+)"\}\]$/.exec(bytes.toString("utf8", HEADER.size, end))?.[1];
  return store === undefined ? undefined : { store, end };
};

/** The text of a record. @param after the record that it comes after, where that is not the one before it by number. */
export const textOfRecord = (entries: readonly string[], after?: number): string =>
  `[${JOURNAL_VERSION}${after === undefined ? "" : `,{"after":${after}}`}${entries.length === 0 ? "" : `,${entries.join()}`}]`;

/** The number of the record that it says to come after. */
export const afterOf = ({ number, text }: LogRecord): number => {
  const told = /^\[\d+,\{"after":(\d+)\}/.exec(text.slice(0, 50))?.[1];
  return told === undefined ? number - 1 : Number(told);
};

/** The same record, which says to come after another one. */
export const movedBehind = ({ number, text }: LogRecord, after: number | undefined): LogRecord => {
  const entries = /^\[\d+(?:,\{[^}]*\})?,?(.*)\]$/s.exec(text)?.[1] ?? "";
  return { number, text: textOfRecord(entries === "" ? [] : [entries], after) };
};
