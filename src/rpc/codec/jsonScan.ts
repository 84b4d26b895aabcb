import type { Sliced } from "../slices.ts";
import type { TextSink } from "./textSink.ts";
import { Unreadable } from "./unreadable.ts";

/** Bytes that are handled in one turn of the event loop; what is in them at the worst (a value in every second byte) takes some ms. */
const sliceBytes: number = 16 * 1024;

/** Objects and arrays within one another. The stacks of JSON.parse and of Protobuf readers hold far more. */
export const deepest = 1000;

/** More characters than any number needs. */
const longestNumber = 1000;

/** A place in a body of JSON, which is known to be UTF-8. */
export interface JsonCursor {
  readonly bytes: Buffer;
  at: number;
  /** Where the slice began. */
  sliceAt: number;
  /** Values that became part of a message. */
  values: number;
}

export const jsonCursor = (bytes: Buffer): JsonCursor => ({ bytes, at: 0, sliceAt: 0, values: 0 });

/** Whether the slice is done; `yield endSlice(cursor)` is then due. */
export const isSliceDone = (cursor: JsonCursor): boolean => cursor.at - cursor.sliceAt >= sliceBytes;

/** Begins the next slice. Returns the size of the last. */
export const endSlice = (cursor: JsonCursor): number => {
  const size = cursor.at - cursor.sliceAt;
  cursor.sliceAt = cursor.at;
  return size;
};

export const QUOTE = 0x22;
export const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/** Where the JSON is not valid, as parseBody says it of small bodies. */
export const malformed = ({ bytes, at }: JsonCursor): Unreadable => Unreadable.notJson(at >= bytes.length ? undefined : at);

/** Goes beyond white space. Returns the byte that follows, NaN at the end. */
export const skipSpace = (cursor: JsonCursor): number => {
  const { bytes } = cursor;
  let { at } = cursor;
  while (at < bytes.length) {
    const c = bytes[at] as number;
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) {
      cursor.at = at;
      return c;
    }
    at++;
  }
  cursor.at = at;
  return Number.NaN;
};

/** Goes beyond one byte that has to be there, white space before it. */
export const expectByte = (cursor: JsonCursor, want: number): void => {
  if (skipSpace(cursor) !== want) throw malformed(cursor);
  cursor.at++;
};

const isHex = (c: number | undefined): boolean =>
  c !== undefined && ((c >= ZERO && c <= NINE) || ((c | 0x20) >= 0x61 && (c | 0x20) <= 0x66));

const simpleEscapes = new Uint8Array(256);
for (const kind of Buffer.from('"\\/bfnrt')) simpleEscapes[kind] = 1;

/** Goes beyond a text, at whose quote the cursor is. Returns whether there are escapes in it. */
export const scanText = (cursor: JsonCursor): boolean => {
  const { bytes } = cursor;
  let at = cursor.at + 1;
  let escaped = false;
  for (;;) {
    const c = bytes[at];
    if (c === QUOTE) break;
    if (c === undefined || c < 0x20) {
      cursor.at = at;
      throw malformed(cursor);
    }
    at++;
    if (c !== BACKSLASH) continue;
    escaped = true;
    const kind = bytes[at];
    const isUnicode = kind === 0x75;
    const good = isUnicode
      ? isHex(bytes[at + 1]) && isHex(bytes[at + 2]) && isHex(bytes[at + 3]) && isHex(bytes[at + 4])
      : kind !== undefined && simpleEscapes[kind] === 1;
    if (!good) {
      cursor.at = kind === undefined ? bytes.length : at;
      throw malformed(cursor);
    }
    at += isUnicode ? 5 : 1;
  }
  cursor.at = at + 1;
  return escaped;
};

const scanDigits = (cursor: JsonCursor): void => {
  const from = cursor.at;
  for (let c = cursor.bytes[cursor.at]; c !== undefined && c >= ZERO && c <= NINE; c = cursor.bytes[cursor.at]) cursor.at++;
  if (cursor.at === from) throw malformed(cursor);
};

/** Goes beyond a number. Returns whether JSON.stringify would write it just so: a short integer, none of its digits in vain. */
const scanNumber = (cursor: JsonCursor): boolean => {
  const { bytes } = cursor;
  const from = cursor.at;
  if (bytes[cursor.at] === MINUS) cursor.at++;
  if (bytes[cursor.at] === ZERO) cursor.at++;
  else scanDigits(cursor);
  const integerEnd = cursor.at;
  if (bytes[cursor.at] === POINT) {
    cursor.at++;
    scanDigits(cursor);
  }
  if (((bytes[cursor.at] ?? 0) | 0x20) === 0x65) {
    cursor.at++;
    const sign = bytes[cursor.at];
    if (sign === MINUS || sign === 0x2b) cursor.at++;
    scanDigits(cursor);
  }
  const length = cursor.at - from;
  if (length > longestNumber) throw new Unreadable(`holds a number of more than ${longestNumber} characters`);
  return cursor.at === integerEnd && length <= 15 && !(length === 2 && bytes[from] === MINUS && bytes[from + 1] === ZERO);
};

const literals = new Map(["true", "false", "null"].map((word) => [word.charCodeAt(0), Buffer.from(word)]));

/** The text of a token. */
export const tokenText = (bytes: Buffer, from: number, to: number): string => bytes.toString("utf8", from, to);

const scanScalar = (cursor: JsonCursor, c: number, sink: TextSink | undefined): void => {
  const { bytes, at: from } = cursor;
  let asIs = true;
  if (c === QUOTE) asIs = !scanText(cursor);
  else if (c === MINUS || (c >= ZERO && c <= NINE)) asIs = scanNumber(cursor);
  else {
    const word = literals.get(c);
    if (word === undefined || bytes.compare(word, 0, word.length, from, Math.min(bytes.length, from + word.length)) !== 0) {
      while (word !== undefined && bytes[cursor.at] === word[cursor.at - from]) cursor.at++;
      throw malformed(cursor);
    }
    cursor.at += word.length;
  }
  if (asIs) sink?.keep(bytes, from, cursor.at);
  else sink?.rewrite(bytes, from, cursor.at);
};

const scanName = (cursor: JsonCursor, sink: TextSink | undefined, isTop: boolean): void => {
  if (skipSpace(cursor) !== QUOTE) throw malformed(cursor);
  const from = cursor.at;
  const escaped = scanText(cursor);
  if (escaped) sink?.rewrite(cursor.bytes, from, cursor.at);
  else sink?.keep(cursor.bytes, from, cursor.at);
  if (isTop) sink?.property(tokenText(cursor.bytes, from, cursor.at));
  expectByte(cursor, COLON);
  sink?.keep(cursor.bytes, cursor.at - 1, cursor.at);
};

/** The objects and arrays that are open, by their first bytes: one each, for there may be millions. */
interface Nesting {
  kinds: Uint8Array;
  depth: number;
  /** A value has just ended; else one is next. */
  isAfter: boolean;
}

const nesting = (): Nesting => ({ kinds: new Uint8Array(32), depth: 0, isAfter: false });

const enter = (open: Nesting, kind: number): void => {
  if (open.depth === open.kinds.length) {
    const larger = new Uint8Array(2 * open.depth);
    larger.set(open.kinds);
    open.kinds = larger;
  }
  open.kinds[open.depth++] = kind;
};

/**
 * Goes on with a value until it has ended, which it returns, or `until` is reached. What goes to a sink is bounded in its
 * depth; what is only skipped may be as deep as it likes.
 */
const scanUntil = (cursor: JsonCursor, open: Nesting, until: number, sink?: TextSink): boolean => {
  const { bytes } = cursor;
  while (cursor.at < until) {
    if (open.isAfter) {
      const kind = open.kinds[open.depth - 1] as number;
      const after = skipSpace(cursor);
      if (after !== COMMA && after !== kind + 2) throw malformed(cursor);
      cursor.at++;
      sink?.keep(bytes, cursor.at - 1, cursor.at);
      if (after === COMMA) {
        if (kind === OPEN_OBJECT) scanName(cursor, sink, open.depth === 1);
        open.isAfter = false;
      } else if (--open.depth === 0) return true;
      continue;
    }
    const c = skipSpace(cursor);
    if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      if (sink !== undefined && open.depth === deepest) throw new Unreadable(`is nested more than ${deepest} levels deep`);
      cursor.at++;
      sink?.keep(bytes, cursor.at - 1, cursor.at);
      enter(open, c);
      if (skipSpace(cursor) !== c + 2) {
        if (c === OPEN_OBJECT) scanName(cursor, sink, open.depth === 1);
        continue;
      }
    } else {
      scanScalar(cursor, c, sink);
      if (open.depth === 0) return true;
    }
    // A value has ended, or only its end is left.
    open.isAfter = true;
  }
  return false;
};

/**
 * Goes beyond one value, whatever it is, and makes sure that it is valid JSON. Its compact text goes to `sink`. Nothing
 * is made of what is in it, and there is no recursion.
 */
export function* scanValue(cursor: JsonCursor, sink?: TextSink): Sliced<void> {
  const open = nesting();
  while (!scanUntil(cursor, open, cursor.sliceAt + sliceBytes, sink)) yield endSlice(cursor);
}

/** Values up to this many bytes are read at once. */
const shortValue = 1024;
const openInShort: Nesting = nesting();

/** Goes beyond a short value, and returns whether it was one; else the cursor stays. */
export const scanShort = (cursor: JsonCursor): boolean => {
  const from = cursor.at;
  openInShort.depth = 0;
  openInShort.isAfter = false;
  const isShort = scanUntil(cursor, openInShort, from + shortValue) && cursor.at - from < sliceBytes;
  // A text is scanned as a whole: a long one is a slice by itself.
  if (!isShort && cursor.at - from >= sliceBytes) cursor.sliceAt = from - sliceBytes;
  if (!isShort) cursor.at = from;
  return isShort;
};
