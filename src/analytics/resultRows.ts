import type { JsonObject, JsonValue } from "./json.ts";

const DATE = /^\d{4}-\d\d-\d\d$/;

/** A Date is shown as its midnight, like every other time in RFC 3339 (analytics §1). */
const showDates = (value: JsonValue): JsonValue => {
  if (typeof value === "string") return DATE.test(value) ? `${value}T00:00:00Z` : value;
  return Array.isArray(value) ? value.map(showDates) : value;
};

/** Dates stand alone or in arrays; a text beside them in a tuple may look like one. */
const holdsDates = (type: string): boolean => /^(?:Array\(|Nullable\(|LowCardinality\()*Date(?:32)?\)*$/.test(type);

/**
 * The rows of a result in `JSONCompactEachRowWithNamesAndTypes`, as objects by column. Numbers of 64 bits are plain
 * numbers, NaN and infinities null, times RFC 3339: the engine's output settings do that.
 */
export const readRows = (text: string): JsonObject[] => {
  const [names = "[]", types = "[]", ...rows] = text.split("\n");
  const columns = JSON.parse(names) as string[];
  const dates = (JSON.parse(types) as string[]).flatMap((type, i) => (holdsDates(type) ? [i] : []));
  const result: JsonObject[] = [];
  for (const row of rows) {
    if (row === "") continue;
    const values = JSON.parse(row) as JsonValue[];
    for (const i of dates) values[i] = showDates(values[i] ?? null);
    result.push(Object.fromEntries(columns.map((column, i) => [column, values[i] ?? null])));
  }
  return result;
};
