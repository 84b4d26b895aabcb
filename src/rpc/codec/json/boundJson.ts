import { deepestStruct } from "../valueBound.ts";

/** Objects and arrays within one another in a body: those of metadata, and what is around it. */
const deepest = deepestStruct + 100;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

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

/**
 * Counts the values of a body before anything is made of it, up to one more than `most`. A value that is nested too deep
 * is overwritten with a zero, so that neither memory nor recursion follows its nesting; the caller has to refuse the body.
 * Of JSON that is not valid the count means nothing.
 */
export const boundJson = (bytes: Buffer, most: number): JsonBounds => {
  let values = 1;
  let depth = 0;
  let isTooDeep = false;
  /** Where the value begins that is too deep. */
  let cutAt = 0;
  /** The last byte opened an object or array, which may be empty. */
  let isOpened = false;
  for (let at = 0; at < bytes.length && values <= most; at++) {
    const c = bytes[at] as number;
    if (c <= SPACE) continue;
    const isClosed = c === CLOSE_OBJECT || c === CLOSE_ARRAY;
    if (isOpened && !isClosed) values++;
    isOpened = false;
    if (c === QUOTE) at = textEnd(bytes, at);
    else if (c === COMMA) {
      if (depth <= deepest) values++;
    } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      isOpened = depth < deepest;
      if (depth++ === deepest) cutAt = at;
    } else if (isClosed && --depth === deepest) {
      isTooDeep = true;
      bytes.fill(SPACE, cutAt, at + 1);
      bytes[cutAt] = ZERO;
    }
  }
  // Never closed, so that it ends too early wherever it is cut.
  if (depth > deepest) bytes.fill(SPACE, cutAt);
  return { values, isTooDeep };
};
