import { deepestStruct } from "../valueBound.ts";

/** Objects and arrays within one another in a body: those of metadata, and what is around it. */
const deepest = deepestStruct + 100;

const SPACE = 0x20;
const ZERO = 0x30;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** What the bytes are outside of texts that say how many values there are; 0: any other. */
const TEXT = 1;
const COMMA = 2;
const OPEN = 3;
const CLOSE = 4;
const marks = new Uint8Array(256);
for (const [mark, characters] of [
  [TEXT, '"'],
  [COMMA, ","],
  [OPEN, "[{"],
  [CLOSE, "]}"],
] as const) {
  for (const byte of Buffer.from(characters)) marks[byte] = mark;
}
/** By how much a byte outside of texts changes the depth. */
const levels: Int8Array = Int8Array.from(marks, (mark) => (mark === OPEN ? 1 : mark === CLOSE ? -1 : 0));

export interface JsonBounds {
  /** At least so many; counting stops beyond the bound. */
  readonly values: number;
  readonly isTooDeep: boolean;
}

/** Where the text ends that begins at `from`: its closing quote. */
const textEnd = (bytes: Buffer, from: number): number => {
  let at = from + 1;
  for (let c = bytes[at]; c !== QUOTE && c !== undefined; c = bytes[at]) at += c === BACKSLASH ? 2 : 1;
  return at;
};

/** Where the next mark is; the end if there is none. Apart, since a loop of its own takes a sixth of the time. */
const nextMark = (bytes: Buffer, from: number): number => {
  let at = from;
  while (at < bytes.length && marks[bytes[at] as number] === 0) at++;
  return at;
};

/** Where an object or array ends that begins at `from`; undefined if it is never closed. */
const closeOf = (bytes: Buffer, from: number): number | undefined => {
  let depth = 0;
  for (let at = from; at < bytes.length; at++) {
    const c = bytes[at] as number;
    if (c === QUOTE) at = textEnd(bytes, at);
    else {
      depth += levels[c] as number;
      if (depth === 0) return at;
    }
  }
  return undefined;
};

/** Where the next byte is that is no white space. */
const skipSpace = (bytes: Buffer, from: number): number => {
  let at = from;
  for (let c = bytes[at]; c !== undefined && c <= SPACE; c = bytes[at]) at++;
  return at;
};

/**
 * Counts the values of a body before anything is made of it, up to one more than `most`. A value that is nested too deep
 * is overwritten with a zero, so that neither memory nor recursion follows its nesting; the caller has to refuse the body.
 * Of JSON that is not valid the count means nothing.
 */
export const boundJson = (bytes: Buffer, most: number): JsonBounds => {
  let values = 1;
  let depth = 0;
  let isTooDeep = false;
  for (let at = nextMark(bytes, 0); at < bytes.length && values <= most; at = nextMark(bytes, at + 1)) {
    const mark = marks[bytes[at] as number];
    if (mark === TEXT) at = textEnd(bytes, at);
    else if (mark === COMMA) values++;
    else if (mark === CLOSE) depth--;
    else if (depth < deepest) {
      depth++;
      at = skipSpace(bytes, at + 1);
      // Not empty.
      if (marks[bytes[at] ?? 0] !== CLOSE) values++;
      at--;
    } else {
      const end = closeOf(bytes, at);
      bytes.fill(SPACE, at, end === undefined ? bytes.length : end + 1);
      // What is never closed ends too early, wherever that is.
      if (end !== undefined) bytes[at] = ZERO;
      isTooDeep = true;
    }
  }
  return { values, isTooDeep };
};
