import { keptDays, timeConditions } from "../schema.ts";
import { quoteText } from "../sql/tokens.ts";
import { type Visibility, visibleRows } from "../visibleRows.ts";
import { bucketExpression } from "./buckets.ts";
import { type UsageField, type UsageKind, type UsageQuestion, usageKinds } from "./question.ts";

const DAY_MS = 86_400_000;
/** Rows whose percentiles are those of samples, as in SQL: up to 64 KiB for each row and thread. A digest takes less, and ten times as long. */
const MOST_SAMPLED = 200;

/** A part of the range, and the table that answers for it. Unix ms, `until` inclusive. */
interface Part {
  readonly step: "raw" | "day" | "month";
  readonly since: number;
  readonly until: number;
}

const startOfNextDay = (time: number): number => (Math.floor(time / DAY_MS) + 1) * DAY_MS;
const startOfNextMonth = (time: number): number => {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
};

/**
 * Which tables are read for a range: single events as far back as those are kept, which is to the millisecond, and before that
 * sums per day and month, where the intervals are no shorter than these.
 */
const partsOf = ({ start, end, granularity }: UsageQuestion, { dataset }: UsageKind, now: number): Part[] => {
  const rawKept = now - keptDays(dataset, "raw") * DAY_MS;
  const rawFrom = startOfNextDay(rawKept);
  const dayFrom = startOfNextMonth(now - keptDays(dataset, "day") * DAY_MS);
  const readsDays = granularity !== "minute" && granularity !== "hour";
  const readsMonths = readsDays && granularity !== "day";
  const firstRaw = readsDays && start < rawKept ? rawFrom : start;
  const firstDay = readsMonths ? dayFrom : start;
  const parts: Part[] = [
    { step: "month", since: start, until: Math.min(end, firstDay) - 1 },
    { step: "day", since: Math.max(start, firstDay), until: Math.min(end, firstRaw) - 1 },
    { step: "raw", since: Math.max(start, firstRaw), until: end - 1 },
  ];
  return parts.filter(({ since, until }) => since <= until);
};

/** A text of a caller's as a literal that holds exactly it: the engine reads no further than a plain U+0000. */
const literal = (value: string | boolean): string =>
  typeof value === "boolean" ? String(value) : quoteText(value).replaceAll("\0", "\\0");

const list = (values: readonly (string | boolean)[]): string => `[${values.map(literal).join(", ")}]`;

const named = (field: UsageField): string => `f_${field}`;

const conditionOf = (field: UsageField, values: readonly (string | boolean)[], groupsByTag: boolean): string => {
  // Nothing is one of no values.
  if (values.length === 0) return "0";
  if (field !== "tag" || groupsByTag) return `${named(field)} IN ${list(values)}`;
  const without = values.includes("") ? " OR empty(tags)" : "";
  return `(hasAny(tags, ${list(values)})${without})`;
};

/** What the statements of one question share. */
export interface UsageSql {
  /** `id`, the fields of groupBy by their names, and `total` events, of at most `most` groups, most events first. */
  readonly groups: (most: number) => string;
  /**
   * `bucket`, `position`, `count`, `spent` and `latencies` (P50, P95, P99) of the intervals with events.
   * @param ids of groups, whose position counts from 1; all others have 0. Undefined: everything is the first group.
   * @param others whether those of other groups are counted as well.
   * @param most how many rows there can be.
   */
  readonly cells: (ids: readonly string[] | undefined, others: boolean, most: number) => string;
}

export interface UsageSqlOptions {
  readonly question: UsageQuestion;
  readonly visibility: Omit<Visibility, "name">;
  /** Unix ms. */
  readonly now: number;
  /** Two numbers of 64 bits that nobody knows beforehand, so that no names can be made for which groups are taken for each other. */
  readonly hashKey: readonly [bigint, bigint];
}

/**
 * The statements that answer a question. They are made of our expressions over the rows that the caller may see
 * (`visibleRows`); what comes from the caller is in them as literals only.
 */
export const usageSql = ({ question, visibility, now, hashKey }: UsageSqlOptions): UsageSql => {
  const { granularity, groupBy, filter } = question;
  const kind = usageKinds[question.kind];
  const { dataset, columns, scopeField, hasLatency } = kind;
  const filters = Object.entries(filter) as [UsageField, readonly (string | boolean)[]][];
  const used = [...new Set([...groupBy, ...filters.map(([field]) => field)])];
  const groupsByTag = groupBy.includes("tag");
  const ids = filter[scopeField]?.map(String);

  const readPart = ({ step, since, until }: Part): string => {
    const table = step === "raw" ? `${dataset.name}_v1` : `${dataset.name}_per_${step}_v1`;
    const rows = visibleRows({ table, since, until, ids }, { ...visibility, name: "own" });
    const isRaw = step === "raw";
    // Sums of limits are of passed and denied checks together: where these are told apart, each is a row of its own.
    const splits = !isRaw && used.includes("passed");
    const sums = hasLatency
      ? { n: "e.count", spent: "e.spent_credits" }
      : splits
        ? { n: "halves.2", spent: "halves.3" }
        : { n: "e.total", spent: "e.passed_tokens" };
    const ofEvent = { n: "toInt64(1)", spent: hasLatency ? "e.spent_credits" : "if(e.passed, toInt64(e.tokens), toInt64(0))" };
    const { n, spent } = isRaw ? ofEvent : sums;
    const fields = used.map((field) =>
      field === "tag" ? "e.tags AS tags" : `${splits && field === "passed" ? "halves.1" : `e.${columns[field]}`} AS ${named(field)}`,
    );
    const values = [
      `${isRaw ? "e.time" : `toInt64(e.time) * ${DAY_MS}`} AS ms`,
      `${n} AS n`,
      `${spent} AS spent`,
      ...(hasLatency ? [`${isRaw ? "e.latency" : "toFloat64(-1)"} AS latency`] : []),
      ...fields,
    ];
    const halves = " ARRAY JOIN [(true, e.passed, e.passed_tokens), (false, e.total - e.passed, toInt64(0))] AS halves";
    const conditions = [...timeConditions(table, "e.time", since, until), ...(splits ? ["halves.2 > 0"] : [])];
    return `SELECT ${values.join(", ")} FROM ${rows} AS e${splits ? halves : ""} WHERE ${conditions.join(" AND ")}`;
  };

  const tags = groupsByTag ? ` ARRAY JOIN if(empty(tags), [''], arrayDistinct(tags)) AS ${named("tag")}` : "";
  const conditions = filters.map(([field, values]) => conditionOf(field, values, groupsByTag));
  const events = (more: readonly string[]): string => {
    const parts = partsOf(question, kind, now).map(readPart);
    const all = [...conditions, ...more];
    return `FROM (${parts.join(" UNION ALL ")}) AS events${tags}${all.length === 0 ? "" : ` WHERE ${all.join(" AND ")}`}`;
  };

  const [first, second] = hashKey;
  const fields = groupBy.map(named);
  const id = `sipHash64Keyed((toUInt64(${first}), toUInt64(${second})), ${fields.join(", ")})`;

  return {
    groups: (most) =>
      `SELECT toString(${id}) AS id, ${fields.join(", ")}, toInt64(sum(n)) AS total ${events([])} ` +
      `GROUP BY ${fields.join(", ")} ORDER BY total DESC, ${fields.join(", ")} LIMIT ${most}`,
    cells: (ids, others, most) => {
      const position =
        ids === undefined
          ? "1"
          : ids.length === 0
            ? "0"
            : `transform(${id}, [${ids.map((each) => `toUInt64(${BigInt(each)})`).join(", ")}], [${ids.map((_, i) => i + 1).join(", ")}], 0)`;
      const quantiles = most <= MOST_SAMPLED ? "quantilesIf" : "quantilesTDigestIf";
      const latencies = hasLatency ? `${quantiles}(0.5, 0.95, 0.99)(latency, latency >= 0)` : "[]";
      return (
        `SELECT ${bucketExpression("ms", granularity)} AS bucket, ${position} AS position, toInt64(sum(n)) AS count, ` +
        `toInt64(sum(spent)) AS spent_sum, ${latencies} AS latencies ${events(ids === undefined || others ? [] : [`${position} > 0`])} ` +
        "GROUP BY bucket, position"
      );
    },
  };
};
