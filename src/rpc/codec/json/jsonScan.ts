import type { Sliced } from "../../pipeline/slices.ts";
import type { TextSink } from "../struct/textSink.ts";
import { Unreadable } from "../unreadable.ts";
import { ENDED, ESCAPED, QUOTE, scanChars } from "./jsonChars.ts";
import { endSlice, type JsonCursor, MORE, malformed, runBytes, skipSpace, sliceBytes, tokenText } from "./jsonCursor.ts";

/** Objects and arrays within one another. The stacks of JSON.parse and of Protobuf readers hold far more. */
export const deepest = 1000;

/** More characters than any number needs. */
const longestNumber = 1000;

export const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

const tooLong = (): Unreadable => new Unreadable(`holds a number of more than ${longestNumber} characters`);

const scanDigits = (cursor: JsonCursor): void => {
  const from = cursor.at;
  for (let c = cursor.bytes[from]; c !== undefined && c >= ZERO && c <= NINE; c = cursor.bytes[cursor.at])
    if (++cursor.at - from > longestNumber) throw tooLong();
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
  if (length > longestNumber) throw tooLong();
  return cursor.at === integerEnd && length <= 15 && !(length === 2 && bytes[from] === MINUS && bytes[from + 1] === ZERO);
};

const literals = new Map(["true", "false", "null"].map((word) => [word.charCodeAt(0), Buffer.from(word)]));

/** Goes beyond a number, `true`, `false` or `null`. */
const scanScalar = (cursor: JsonCursor, c: number, sink: TextSink | undefined): void => {
  const { bytes, at: from } = cursor;
  let asIs = true;
  if (c === MINUS || (c >= ZERO && c <= NINE)) asIs = scanNumber(cursor);
  else {
    const word = literals.get(c);
    if (word === undefined || bytes.compare(word, 0, word.length, from, Math.min(bytes.length, from + word.length)) !== 0) {
      while (word !== undefined && bytes[cursor.at] === word[cursor.at - from]) cursor.at++;
      throw malformed(cursor);
    }
    cursor.at += word.length;
  }
  if (asIs) sink?.keep(bytes, from, cursor.at);
  else sink?.rewriteNumber(bytes, from, cursor.at);
};

/** What comes next in a value that is being scanned. */
const VALUE = 0;
/** The first item or member of an array or object, or its end. */
const FIRST = 1;
const NAME = 2;
const AFTER_NAME = 3;
const AFTER_VALUE = 4;
/** More of a text: of a name, or of a value. */
const IN_NAME = 5;
const IN_TEXT = 6;

/** How far the scanning of a value has come. */
interface Scan {
  /** The first bytes of the objects and arrays that are open: one each, for there may be millions. */
  kinds: Uint8Array;
  depth: number;
  next: number;
  /** Where the last name began. */
  nameAt: number;
}

const newScan = (): Scan => ({ kinds: new Uint8Array(32), depth: 0, next: VALUE, nameAt: 0 });

const enter = (scan: Scan, kind: number): void => {
  if (scan.depth === scan.kinds.length) {
    const larger = new Uint8Array(2 * scan.depth);
    larger.set(scan.kinds);
    scan.kinds = larger;
  }
  scan.kinds[scan.depth++] = kind;
  scan.next = FIRST;
};

/** Goes beyond the byte at the cursor. */
const pass = (cursor: JsonCursor, sink: TextSink | undefined): void => {
  const { bytes, at } = cursor;
  cursor.at++;
  sink?.keep(bytes, at, at + 1);
};

/** Goes on within a text until it has ended, which it returns, or `until` is reached. */
const scanTextUntil = (cursor: JsonCursor, scan: Scan, until: number, sink: TextSink | undefined): boolean => {
  const { bytes, at: from } = cursor;
  const found = scanChars(cursor, until);
  if (found & ESCAPED) sink?.rewriteText(bytes, from, cursor.at);
  else sink?.keep(bytes, from, cursor.at);
  if (!(found & ENDED)) return false;
  pass(cursor, sink);
  if (scan.next === IN_TEXT) {
    scan.next = AFTER_VALUE;
    return true;
  }
  scan.next = AFTER_NAME;
  const { nameAt } = scan;
  const { at } = cursor;
  if (scan.depth === 1) sink?.property(at - nameAt, () => tokenText(bytes, nameAt, at));
  return true;
};

/**
 * Goes on with a value until it has ended, which it returns, or `until` is reached; a text may go on until `textUntil`.
 * What goes to a sink is bounded in its depth; what is only skipped may be as deep as it likes.
 */
const scanUntil = (cursor: JsonCursor, scan: Scan, until: number, textUntil: number, sink?: TextSink): boolean => {
  while (cursor.at < until) {
    if (scan.next >= IN_NAME) {
      if (!scanTextUntil(cursor, scan, textUntil, sink)) return false;
      if (scan.depth === 0) return true;
      continue;
    }
    const c = skipSpace(cursor);
    if (c === MORE) return false;
    const kind = scan.depth > 0 ? (scan.kinds[scan.depth - 1] as number) : 0;
    if ((scan.next === FIRST || scan.next === AFTER_VALUE) && c === kind + 2) {
      pass(cursor, sink);
      if (--scan.depth === 0) return true;
      scan.next = AFTER_VALUE;
    } else if (scan.next === AFTER_VALUE) {
      if (c !== COMMA) throw malformed(cursor);
      pass(cursor, sink);
      scan.next = kind === OPEN_OBJECT ? NAME : VALUE;
    } else if (scan.next === AFTER_NAME) {
      if (c !== COLON) throw malformed(cursor);
      pass(cursor, sink);
      scan.next = VALUE;
    } else if (scan.next === NAME || (scan.next === FIRST && kind === OPEN_OBJECT)) {
      if (c !== QUOTE) throw malformed(cursor);
      scan.nameAt = cursor.at;
      scan.next = IN_NAME;
      pass(cursor, sink);
    } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      if (sink !== undefined && scan.depth === deepest) throw new Unreadable(`is nested more than ${deepest} levels deep`);
      pass(cursor, sink);
      enter(scan, c);
    } else if (c === QUOTE) {
      scan.next = IN_TEXT;
      pass(cursor, sink);
    } else {
      scanScalar(cursor, c, sink);
      if (scan.depth === 0) return true;
      scan.next = AFTER_VALUE;
    }
  }
  return false;
};

/**
 * Goes beyond one value, whatever it is, and makes sure that it is valid JSON. Its compact text goes to `sink`. Nothing
 * is made of what is in it, and there is no recursion.
 */
export function* scanValue(cursor: JsonCursor, sink?: TextSink): Sliced<void> {
  const scan = newScan();
  for (;;) {
    const until = cursor.sliceAt + sliceBytes;
    if (scanUntil(cursor, scan, until, until + runBytes, sink)) return;
    yield endSlice(cursor);
  }
}

/** Values up to this many bytes are read at once. */
const shortValue = 1024;
const shortScan: Scan = newScan();

/** Goes beyond a short value, and returns whether it was one; else the cursor stays. */
export const scanShort = (cursor: JsonCursor): boolean => {
  const from = cursor.at;
  shortScan.depth = 0;
  shortScan.next = VALUE;
  const isShort = scanUntil(cursor, shortScan, from + shortValue, from + shortValue);
  if (!isShort) cursor.at = from;
  return isShort;
};
