import type { Sliced } from "../../pipeline/slices.ts";
import { type Finding, reportType } from "../rules/findings.ts";
import { QUOTE, readShortText, readText } from "./jsonChars.ts";
import { endSlice, isSliceDone, type JsonCursor, malformed, nextByte, tokenText } from "./jsonCursor.ts";
import { CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, scanValue } from "./jsonScan.ts";

/** Reads the value at the cursor; of an object or array only that it is one. */
export function* readPlain(cursor: JsonCursor): Sliced<unknown> {
  const { bytes, at: from } = cursor;
  if (bytes[from] === QUOTE) return yield* readText(cursor);
  yield* scanValue(cursor);
  if (bytes[from] === OPEN_OBJECT) return {};
  if (bytes[from] === OPEN_ARRAY) return [];
  return JSON.parse(tokenText(bytes, from, cursor.at));
}

/** What is there instead of an object or array. */
export function* decodeOther(cursor: JsonCursor, findings: Finding[], want: string): Sliced<void> {
  reportType(findings, yield* readPlain(cursor), want);
}

/**
 * Reads the members of the object at the cursor; `member` reads the value of a name, at which the cursor is then, or returns
 * what does.
 */
export function* eachMember(cursor: JsonCursor, member: (name: string) => Sliced<void> | undefined): Sliced<void> {
  cursor.at++;
  let next = yield* nextByte(cursor);
  for (let more = next !== CLOSE_OBJECT; more; ) {
    if (isSliceDone(cursor)) yield endSlice(cursor);
    if ((yield* nextByte(cursor)) !== QUOTE) throw malformed(cursor);
    const name = readShortText(cursor) ?? (yield* readText(cursor));
    if ((yield* nextByte(cursor)) !== COLON) throw malformed(cursor);
    cursor.at++;
    yield* nextByte(cursor);
    const rest = member(name);
    if (rest !== undefined) yield* rest;
    next = yield* nextByte(cursor);
    more = next === COMMA;
    if (more) cursor.at++;
  }
  if (next !== CLOSE_OBJECT) throw malformed(cursor);
  cursor.at++;
}

/** Whether the value at the cursor is null, which is the only one that begins so. */
export const isNullAhead = ({ bytes, at }: JsonCursor): boolean => bytes[at] === 0x6e;
