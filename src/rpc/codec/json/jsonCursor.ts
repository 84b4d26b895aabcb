import type { Sliced } from "../../pipeline/slices.ts";
import { Unreadable } from "../unreadable.ts";
import { type CountValue, valueCount } from "../valueCount.ts";

/** Bytes that are handled in one turn of the event loop; what is in them at the worst (a value in every second byte) takes some ms. */
export const sliceBytes: number = 16 * 1024;

/** White space or text that is passed in one go: it takes a fraction of the time of values. */
export const runBytes: number = 64 * 1024;

/** A place in a body of JSON, which is known to be UTF-8. */
export interface JsonCursor {
  readonly bytes: Buffer;
  at: number;
  /** Where the slice began. */
  sliceAt: number;
  /** To be called for every value that becomes part of a message. */
  readonly countValue: CountValue;
}

/** @param charge takes bytes for what is made of the body, or throws. */
export const jsonCursor = (bytes: Buffer, charge: (bytes: number) => void): JsonCursor => ({
  bytes,
  at: 0,
  sliceAt: 0,
  countValue: valueCount(charge),
});

/** Whether the slice is done; `yield endSlice(cursor)` is then due. */
export const isSliceDone = (cursor: JsonCursor): boolean => cursor.at - cursor.sliceAt >= sliceBytes;

/** Begins the next slice. Returns the size of the last. */
export const endSlice = (cursor: JsonCursor): number => {
  const size = cursor.at - cursor.sliceAt;
  cursor.sliceAt = cursor.at;
  return size;
};

/** Where the JSON is not valid, as parseBody says it of small bodies. */
export const malformed = ({ bytes, at }: JsonCursor): Unreadable => Unreadable.notJson(at >= bytes.length ? undefined : at);

/** The text of a token. */
export const tokenText = (bytes: Buffer, from: number, to: number): string => bytes.toString("utf8", from, to);

/** What `skipSpace` returns where there may be more white space. */
export const MORE = -1;

/** Goes beyond white space, up to `runBytes` of it. Returns the byte that follows, NaN at the end, or `MORE`. */
export const skipSpace = (cursor: JsonCursor): number => {
  const { bytes } = cursor;
  const end = Math.min(bytes.length, cursor.at + runBytes);
  let { at } = cursor;
  for (; at < end; at++) {
    const c = bytes[at] as number;
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) {
      cursor.at = at;
      return c;
    }
  }
  cursor.at = at;
  return at < bytes.length ? MORE : Number.NaN;
};

/** Goes beyond white space of any length. Returns the byte that follows, NaN at the end. */
export function* nextByte(cursor: JsonCursor): Sliced<number> {
  for (;;) {
    const c = skipSpace(cursor);
    if (c !== MORE) return c;
    yield endSlice(cursor);
  }
}
