import type { Sliced } from "../../pipeline/slices.ts";
import { endSlice, type JsonCursor, malformed, runBytes, tokenText } from "./jsonCursor.ts";

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const LETTER_D = 0x64;

/** Texts up to this many bytes are read at once. */
const shortText = 1024;

const lower = (c: number | undefined): number => (c ?? 0) | 0x20;

const isHex = (c: number | undefined): boolean => c !== undefined && ((c >= 0x30 && c <= 0x39) || (lower(c) >= 0x61 && lower(c) <= 0x66));

const simpleEscapes = new Uint8Array(256);
for (const kind of Buffer.from('"\\/bfnrt')) simpleEscapes[kind] = 1;

/** The first half of a pair of surrogates, as an escape behind its backslash: `ud800` to `udbff`. */
const isHigh = (bytes: Buffer, at: number): boolean => {
  if (bytes[at] !== LETTER_U || lower(bytes[at + 1]) !== LETTER_D) return false;
  const digit = lower(bytes[at + 2]);
  return digit === 0x38 || digit === 0x39 || digit === 0x61 || digit === 0x62;
};

/** The second half, with its backslash: `\udc00` to `\udfff`. */
const isLow = (bytes: Buffer, at: number): boolean =>
  bytes[at] === BACKSLASH && bytes[at + 1] === LETTER_U && lower(bytes[at + 2]) === LETTER_D && lower(bytes[at + 3]) >= 0x63;

const isContinuation = (c: number): boolean => (c & 0xc0) === 0x80;

/** What `scanChars` returns: the sum where both hold. */
export const ENDED = 1;
export const ESCAPED = 2;

/**
 * Goes on within a text: to its closing quote (`ENDED`), or to the first place from `until` on that parts no escape, no
 * character and no pair of surrogates. `ESCAPED`: there are escapes on the way.
 */
export const scanChars = (cursor: JsonCursor, until: number): number => {
  const { bytes } = cursor;
  let { at } = cursor;
  let found = 0;
  let highEnd = -1;
  for (;;) {
    const c = bytes[at];
    if (c === QUOTE) {
      cursor.at = at;
      return found | ENDED;
    }
    if (c === undefined || c < 0x20) {
      cursor.at = at;
      throw malformed(cursor);
    }
    if (at >= until && !isContinuation(c) && !(at === highEnd && isLow(bytes, at))) {
      cursor.at = at;
      return found;
    }
    at++;
    if (c !== BACKSLASH) continue;
    found = ESCAPED;
    const kind = bytes[at];
    const isUnicode = kind === LETTER_U;
    const good = isUnicode
      ? isHex(bytes[at + 1]) && isHex(bytes[at + 2]) && isHex(bytes[at + 3]) && isHex(bytes[at + 4])
      : kind !== undefined && simpleEscapes[kind] === 1;
    if (!good) {
      cursor.at = kind === undefined ? bytes.length : at;
      throw malformed(cursor);
    }
    const isFirstHalf = isUnicode && isHigh(bytes, at);
    at += isUnicode ? 5 : 1;
    if (isFirstHalf) highEnd = at;
  }
};

const pieceText = (bytes: Buffer, from: number, to: number, found: number): string =>
  found & ESCAPED ? (JSON.parse(`"${tokenText(bytes, from, to)}"`) as string) : tokenText(bytes, from, to);

/** Reads the text at whose quote the cursor is, if it is short; else the cursor stays, and undefined is returned. */
export const readShortText = (cursor: JsonCursor): string | undefined => {
  const from = cursor.at++;
  const found = scanChars(cursor, from + shortText);
  if (found & ENDED) return pieceText(cursor.bytes, from + 1, cursor.at++, found);
  cursor.at = from;
  return undefined;
};

/** Reads the text at whose quote the cursor is, in slices. */
export function* readText(cursor: JsonCursor): Sliced<string> {
  cursor.at++;
  let text = "";
  for (;;) {
    const from = cursor.at;
    const found = scanChars(cursor, from + runBytes);
    text += pieceText(cursor.bytes, from, cursor.at, found);
    if (found & ENDED) {
      cursor.at++;
      return text;
    }
    yield endSlice(cursor);
  }
}
