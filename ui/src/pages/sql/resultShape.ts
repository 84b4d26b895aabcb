import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { columnNames } from "../../data/files/fileText.ts";

/** How to draw rows: lines over time, or bars by name. Undefined: neither fits. */
export type ResultChart =
  | {
      readonly kind: "lines";
      readonly times: readonly number[];
      readonly series: readonly { readonly name: string; readonly values: readonly (number | undefined)[] }[];
    }
  | {
      readonly kind: "bars";
      readonly names: string;
      readonly values: string;
      readonly bars: readonly { readonly name: string; readonly value: number }[];
    };

/** A chart says nothing any more above this; the table has them all. */
const mostLines = 12;
const mostBars = 50;

/** Unix ms of a value that is a time: a date, or an integer of the raw table's `time`. */
const timeOf = (value: JsonValue | undefined): number | undefined => {
  if (typeof value === "number") return Number.isInteger(value) && value > 1e12 && value < 1e13 ? value : undefined;
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\d([T ]|$)/.test(value)) return undefined;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : time;
};

const numberOf = (value: JsonValue | undefined): number | undefined => (typeof value === "number" ? value : undefined);

interface Columns {
  readonly time: string | undefined;
  readonly names: readonly string[];
  readonly numbers: readonly string[];
}

const columnsOf = (rows: readonly JsonObject[]): Columns => {
  const all = columnNames(rows);
  const every = (column: string, test: (value: JsonValue | undefined) => boolean): boolean => rows.every((row) => test(row[column]));
  const time = all.find((column) => every(column, (value) => timeOf(value) !== undefined));
  const rest = all.filter((column) => column !== time);
  return {
    time,
    // A percentile of nothing is null.
    numbers: rest.filter((column) => every(column, (value) => value === null || typeof value === "number")),
    names: rest.filter((column) => every(column, (value) => typeof value === "string" || typeof value === "boolean")),
  };
};

const linesOf = (rows: readonly JsonObject[], time: string, { names, numbers }: Columns): ResultChart => {
  const times = [...new Set(rows.map((row) => timeOf(row[time]) ?? 0))].sort((one, other) => one - other);
  const lines = new Map<string, Map<number, number | undefined>>();
  for (const row of rows) {
    const group = names.map((name) => String(row[name]) || "–").join(", ");
    for (const column of numbers) {
      const name = [group, ...(numbers.length > 1 || group === "" ? [column] : [])].filter((part) => part !== "").join(" ");
      const values = lines.get(name) ?? new Map<number, number | undefined>();
      lines.set(name, values.set(timeOf(row[time]) ?? 0, numberOf(row[column])));
    }
  }
  const drawn = [...lines].slice(0, mostLines);
  return { kind: "lines", times, series: drawn.map(([name, values]) => ({ name, values: times.map((at) => values.get(at)) })) };
};

/** Finds out what a result can be drawn as: a column of times makes lines, one of names bars; the numbers are what is drawn. */
export const resultChart = (rows: readonly JsonObject[]): ResultChart | undefined => {
  if (rows.length === 0) return undefined;
  const columns = columnsOf(rows);
  const [value] = columns.numbers;
  if (value === undefined) return undefined;
  if (columns.time !== undefined) return linesOf(rows, columns.time, columns);
  if (columns.names.length === 0) return undefined;
  return {
    kind: "bars",
    names: columns.names.join(", "),
    values: value,
    bars: rows.slice(0, mostBars).map((row) => ({
      name: columns.names.map((name) => String(row[name]) || "–").join(", "),
      value: numberOf(row[value]) ?? 0,
    })),
  };
};

/** A value of a row as the table shows it. */
export const cellText = (value: JsonValue | undefined): string => {
  if (value === undefined || value === null) return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};
