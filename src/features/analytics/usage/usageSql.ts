import { timeConditions } from "../tables/schema.ts";
import { type Visibility, visibleRows } from "../visibleRows.ts";
import { bucketExpression } from "./buckets.ts";
import { oneOfCondition, tagsCondition } from "./filterSql.ts";
import type { Part } from "./parts.ts";
import { type UsageField, type UsageQuestion, usageKinds } from "./question.ts";

/** Of what the engine counts times in: seconds in the sums per hour, days in those per day and month. */
const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
/** Rows whose percentiles are those of samples, as in SQL: up to 64 KiB for each row and thread. A digest takes less, and ten times as long. */
const MOST_SAMPLED = 200;

const named = (field: UsageField): string => `f_${field}`;

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
  /** What answers for its range. */
  readonly parts: readonly Part[];
  readonly visibility: Omit<Visibility, "name">;
  /** Two numbers of 64 bits that nobody knows beforehand, so that no names can be made for which groups are taken for each other. */
  readonly hashKey: readonly [bigint, bigint];
}

/**
 * The statements that answer a question. They are made of our expressions over the rows that the caller may see
 * (`visibleRows`); what comes from the caller is in them as literals only.
 */
export const usageSql = ({ question, parts, visibility, hashKey }: UsageSqlOptions): UsageSql => {
  const { granularity, groupBy, filter } = question;
  const kind = usageKinds[question.kind];
  const { dataset, columns, scopeField, hasLatency } = kind;
  const filters = Object.entries(filter) as [UsageField, readonly (string | boolean)[]][];
  const used = [...new Set([...groupBy, ...filters.map(([field]) => field)])];
  const groupsByTag = groupBy.includes("tag");
  const ids = filter[scopeField]?.map(String);

  const readPart = ({ step, since, until: end }: Part): string => {
    const until = end - 1;
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
      `${isRaw ? "e.time" : `toInt64(e.time) * ${step === "hour" ? SECOND_MS : DAY_MS}`} AS ms`,
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
  const conditions = filters.map(([field, values]) =>
    field === "tag" && !groupsByTag ? tagsCondition("tags", values) : oneOfCondition(named(field), values),
  );
  const events = (more: readonly string[]): string => {
    const all = [...conditions, ...more];
    return `FROM (${parts.map(readPart).join(" UNION ALL ")}) AS events${tags}${all.length === 0 ? "" : ` WHERE ${all.join(" AND ")}`}`;
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
