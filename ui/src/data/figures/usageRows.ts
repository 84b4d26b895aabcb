import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** A line of a chart: a value for each time. */
export interface UsageSeries {
  readonly name: string;
  readonly values: readonly (number | undefined)[];
}

/** Rows of `analytics.getUsage`, turned into lines. */
export interface UsageLines {
  /** Unix ms, ascending. */
  readonly times: readonly number[];
  readonly series: readonly UsageSeries[];
}

/** Whether any of the values is more than 0: else there is nothing to draw. */
export const hasFigures = ({ series }: UsageLines): boolean => series.some(({ values }) => values.some((value) => (value ?? 0) > 0));

const numberOf = (value: JsonValue | undefined): number | undefined => (typeof value === "number" ? value : undefined);

const timesOf = (rows: readonly JsonObject[]): readonly number[] =>
  [...new Set(rows.flatMap(({ time }) => numberOf(time) ?? []))].sort((one, other) => one - other);

/** The group of a row, as a name; the rest is `other` (management §6). */
const groupOf = (row: JsonObject, by: string): string => (row.other === true ? "other" : String(row[by] ?? ""));

/** One line for each value of `by`, of their counts, in the order of their totals. */
export const countLines = (rows: readonly JsonObject[], by: string): UsageLines => {
  const times = timesOf(rows);
  const groups = new Map<string, Map<number, number>>();
  for (const row of rows) {
    const group = groupOf(row, by);
    const counts = groups.get(group) ?? new Map<number, number>();
    groups.set(group, counts.set(numberOf(row.time) ?? 0, numberOf(row.count) ?? 0));
  }
  const total = (counts: Map<number, number>): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
  return {
    times,
    series: [...groups]
      .sort(([, one], [, other]) => total(other) - total(one))
      .map(([name, counts]) => ({ name, values: times.map((time) => counts.get(time) ?? 0) })),
  };
};

/** The percentiles of rows without groups; times without events have none. */
export const latencyLines = (rows: readonly JsonObject[]): UsageLines => {
  const times = timesOf(rows);
  const byTime = new Map(rows.map((row) => [numberOf(row.time), row]));
  return {
    times,
    series: (["latencyP50", "latencyP95", "latencyP99"] as const).map((field) => ({
      name: field.replace("latency", "").toLowerCase(),
      values: times.map((time) => numberOf(byTime.get(time)?.[field])),
    })),
  };
};
