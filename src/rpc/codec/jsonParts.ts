import type { Sliced } from "../slices.ts";
import { type Finding, reportType } from "./findings.ts";
import {
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endSlice,
  expectByte,
  isSliceDone,
  type JsonCursor,
  malformed,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  scanText,
  scanValue,
  skipSpace,
  tokenText,
} from "./jsonScan.ts";
import { mostValues, tooManyValues } from "./unreadable.ts";

/** Counts a value that becomes part of a message. Throws when there are too many. */
export const countValue = (cursor: JsonCursor): void => {
  if (++cursor.values > mostValues) throw tooManyValues();
};

/** The text of a name, or of a value that is no object or array; of these only that they are. */
export const tokenValue = ({ bytes }: JsonCursor, from: number, to: number): unknown => {
  if (bytes[from] === OPEN_OBJECT) return {};
  if (bytes[from] === OPEN_ARRAY) return [];
  return JSON.parse(tokenText(bytes, from, to));
};

/** What is there instead of an object or array. */
export function* decodeOther(cursor: JsonCursor, findings: Finding[], want: string): Sliced<void> {
  const from = cursor.at;
  yield* scanValue(cursor);
  reportType(findings, tokenValue(cursor, from, cursor.at), want);
}

/** Reads the members of the object at the cursor; `member` reads the value of a name, or returns what does. */
export function* eachMember(cursor: JsonCursor, member: (name: string) => Sliced<void> | undefined): Sliced<void> {
  cursor.at++;
  for (let more = skipSpace(cursor) !== CLOSE_OBJECT; more; ) {
    if (isSliceDone(cursor)) yield endSlice(cursor);
    if (skipSpace(cursor) !== QUOTE) throw malformed(cursor);
    const from = cursor.at;
    const escaped = scanText(cursor);
    const { bytes, at } = cursor;
    const name = escaped ? (JSON.parse(tokenText(bytes, from, at)) as string) : tokenText(bytes, from + 1, at - 1);
    expectByte(cursor, COLON);
    const rest = member(name);
    if (rest !== undefined) yield* rest;
    more = skipSpace(cursor) === COMMA;
    if (more) cursor.at++;
  }
  expectByte(cursor, CLOSE_OBJECT);
}

/** Whether the next value is null, which is the only one that begins so. */
export const isNullAhead = (cursor: JsonCursor): boolean => skipSpace(cursor) === 0x6e;
