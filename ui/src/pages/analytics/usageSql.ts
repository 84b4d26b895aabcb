import { UsageGranularity } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import type { TimeRange } from "../../data/figures/timeRange.ts";
import { type Dimension, type EventKind, rankedGroups, type UsageFilters } from "./usageView.ts";

/** Columns of the raw tables (analytics §4, §5). */
const columns: Readonly<Record<Dimension, string>> = {
  outcome: "outcome",
  apiId: "key_space_id",
  keyId: "key_id",
  externalId: "external_id",
  tag: "tags",
  passed: "passed",
  namespaceId: "namespace_id",
  identifier: "identifier",
};

const literal = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const conditionOf = (name: string, value: string): string => {
  const column = columns[name as Dimension];
  return name === "tag" ? `has(${column}, ${literal(value)})` : `${column} = ${literal(value)}`;
};

const starts: Partial<Record<UsageGranularity, string>> = {
  [UsageGranularity.MINUTE]: "toStartOfMinute",
  [UsageGranularity.HOUR]: "toStartOfHour",
  [UsageGranularity.DAY]: "toStartOfDay",
  [UsageGranularity.MONTH]: "toStartOfMonth",
};

const fromWhere = ({ id }: EventKind, { start, end }: TimeRange, filters: UsageFilters): string => {
  const conditions = [`time >= ${start}`, `time < ${end}`, ...Object.entries(filters).map(([name, value]) => conditionOf(name, value))];
  return `FROM ${id === "verifications" ? "key_verifications_v1" : "ratelimits_v1"}\nWHERE ${conditions.join("\n  AND ")}`;
};

const interval = ({ granularity }: TimeRange): string =>
  `${starts[granularity] ?? "toStartOfDay"}(fromUnixTimestamp64Milli(time)) AS interval_start`;

/** The question of the chart over time, as SQL. */
export const linesSql = (kind: EventKind, range: TimeRange, filters: UsageFilters): string =>
  `SELECT ${interval(range)}, ${kind.lines.by}, count() AS count
${fromWhere(kind, range, filters)}
GROUP BY interval_start, ${kind.lines.by}
ORDER BY interval_start`;

/** The question of the percentiles, as SQL. */
export const latencySql = (kind: EventKind, range: TimeRange, filters: UsageFilters): string =>
  `SELECT ${interval(range)},
  quantile(0.5)(latency) AS p50, quantile(0.95)(latency) AS p95, quantile(0.99)(latency) AS p99
${fromWhere(kind, range, filters)}
GROUP BY interval_start
ORDER BY interval_start`;

/** The question of a ranking, as SQL. */
export const rankingSql = (kind: EventKind, range: TimeRange, filters: UsageFilters, by: Dimension): string => {
  const [column, name] = by === "tag" ? ["arrayJoin(tags) AS tag", "tag"] : [columns[by], columns[by]];
  return `SELECT ${column}, count() AS count
${fromWhere(kind, range, filters)}
GROUP BY ${name}
ORDER BY count DESC
LIMIT ${rankedGroups}`;
};

/** The SQL page with a query, which a person runs there. */
export const sqlAddress = (query: string, view: "table" | "chart"): string => `/ui/sql?${new URLSearchParams({ query, view })}`;
