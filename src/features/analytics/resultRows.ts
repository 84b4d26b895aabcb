import { setImmediate as nextTurn } from "node:timers/promises";
import { AnswerTooLargeError } from "./engineErrors.ts";
import type { JsonObject, JsonValue } from "./json.ts";

const DATE = /^\d{4}-\d\d-\d\d$/;

/** A Date is shown as its midnight, like every other time in RFC 3339 (analytics §1). */
const showDates = (value: JsonValue): JsonValue => {
  if (typeof value === "string") return DATE.test(value) ? `${value}T00:00:00Z` : value;
  return Array.isArray(value) ? value.map(showDates) : value;
};

/** Dates stand alone or in arrays; a text beside them in a tuple may look like one. */
const holdsDates = (type: string): boolean => /^(?:Array\(|Nullable\(|LowCardinality\()*Date(?:32)?\)*$/.test(type);

/** Characters of a result that are read between two turns of the event loop: short rows take some 3 ms then. */
const SLICE = 4_096;

/**
 * The rows of a result in `JSONCompactEachRowWithNamesAndTypes`, as objects by column. Numbers of 64 bits are plain
 * numbers, NaN and infinities null, times RFC 3339: the engine's output settings do that. Others have their turn while
 * it reads, for a result may have a million rows. Fails with `AnswerTooLargeError` when the rows are more than `maxBytes`
 * as JSON: names stand once in what the engine sent, and in every row of the response.
 */
export const readRows = async (text: string, maxBytes: number): Promise<JsonObject[]> => {
  let place = 0;
  const nextLine = (): string | undefined => {
    if (place >= text.length) return undefined;
    const end = text.indexOf("\n", place);
    const line = text.slice(place, end < 0 ? text.length : end);
    place += line.length + 1;
    return line;
  };
  const columns = JSON.parse(nextLine() ?? "[]") as string[];
  const dates = (JSON.parse(nextLine() ?? "[]") as string[]).flatMap((type, i) => (holdsDates(type) ? [i] : []));
  const result: JsonObject[] = [];
  let bytes = "[".length;
  let sliceEnd = SLICE;
  for (let line = nextLine(); line !== undefined; line = nextLine()) {
    if (line === "") continue;
    const values = JSON.parse(line) as JsonValue[];
    for (const i of dates) values[i] = showDates(values[i] ?? null);
    const row = Object.fromEntries(columns.map((column, i) => [column, values[i] ?? null]));
    bytes += Buffer.byteLength(JSON.stringify(row)) + ",".length;
    if (bytes > maxBytes) throw new AnswerTooLargeError(maxBytes);
    result.push(row);
    if (place < sliceEnd) continue;
    await nextTurn();
    sliceEnd = place + SLICE;
  }
  return result;
};
