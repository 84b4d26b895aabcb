import { getRandomValues, hash } from "node:crypto";
import type { Clock } from "../../../platform/base/clock.ts";
import { invalidInput, ServiceError } from "../../../platform/base/errors.ts";
import { AnswerTooLargeError, EngineError } from "../engineErrors.ts";
import type { Execution } from "../execution.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { requireIsolation } from "../queries.ts";
import { isOfStatement, toQueryError } from "../queryErrors.ts";
import { MAX_RESPONSE_BYTES } from "../querySettings.ts";
import { earliestTime, requireRetained } from "../tables/retention.ts";
import { countBuckets, fittingGranularity, listBuckets } from "./buckets.ts";
import { type Part, partsOf } from "./parts.ts";
import { type UsageQuestion, usageKinds } from "./question.ts";
import { createSharedAnswers } from "./sharedAnswers.ts";
import { type UsageSql, usageSql } from "./usageSql.ts";

/** Rows of an answer (management §6). */
const MOST_CELLS = 10_000;
/** How long equal questions share an answer. */
const SHARED_MS = 5_000;
/** Bytes that are kept for it, of all answers together and as JSON, and those of an answer beside its rows. */
const SHARED_BYTES = 16 * 1024 ** 2;
const ANSWER_BYTES = 1_024;
/** Of a row beside its groups: names, time and numbers. */
const ROW_BYTES = 160;
const MICROSECONDS = 1_000;

export interface UsageCall {
  readonly question: UsageQuestion;
  /** Ids whose events the caller may see; undefined = all. */
  readonly scope: readonly string[] | undefined;
  /** Unix ms. */
  readonly now: number;
  readonly signal: AbortSignal;
}

export interface UsageOptions {
  readonly clock: Clock;
  readonly database: string;
  /** Resolves when the tables are there. */
  readonly ready: () => Promise<void>;
  /** Whether the engine keeps scoped queries to their scope. */
  readonly isIsolated: () => Promise<boolean>;
  readonly execution: Execution;
  readonly retentionDays: number;
  readonly querySeconds: number;
}

/** A group of events, by the values of groupBy, or the rest. */
interface Group {
  readonly values: JsonObject;
  /** Of all intervals. */
  total: number;
  readonly cells: Map<number, JsonObject>;
}

const tooManyCells = (question: UsageQuestion, groups: number, cells: number): Error => {
  const fitting = fittingGranularity(question, groups, MOST_CELLS);
  const message =
    `${cells} rows (intervals times groups) are more than ${MOST_CELLS}: ` +
    (fitting === undefined ? "lower the limit" : `the granularity ${fitting} fits`);
  return invalidInput(`The answer would have ${message}.`, [{ location: "body.granularity", message }]);
};

/** A latency as it is shown: to the microsecond. */
const showLatency = (value: JsonValue | undefined): number | undefined =>
  typeof value === "number" ? Math.round(value * MICROSECONDS) / MICROSECONDS : undefined;

const showCell = (cell: JsonObject | undefined, spent: string): JsonObject => {
  const latencies = Array.isArray(cell?.latencies) ? cell.latencies.map(showLatency) : [];
  const shown: JsonObject = { count: cell?.count ?? 0, [spent]: cell?.spent_sum ?? 0 };
  for (const [i, name] of ["latencyP50", "latencyP95", "latencyP99"].entries()) {
    const latency = latencies[i];
    if (latency !== undefined) shown[name] = latency;
  }
  return shown;
};

/** The rows of an answer, and how large they are as JSON at most. */
interface Shown {
  readonly rows: JsonObject[];
  readonly bytes: number;
}

/** The rows of an answer, also for intervals without events. */
const showRows = (question: UsageQuestion, groups: readonly Group[]): Shown => {
  const { granularity, orderBy, kind } = question;
  const { spent } = usageKinds[kind];
  const buckets = listBuckets(question, granularity);
  const bytes = groups.reduce((sum, { values }) => sum + (Buffer.byteLength(JSON.stringify(values)) + ROW_BYTES) * buckets.length, 0);
  if (bytes > MAX_RESPONSE_BYTES) throw new AnswerTooLargeError(MAX_RESPONSE_BYTES);
  const ordered = groups.toSorted((a, b) => b.total - a.total);
  const row = (bucket: number, { values, cells }: Group): JsonObject => ({
    ...(granularity === "total" ? {} : { time: bucket }),
    ...values,
    ...showCell(cells.get(bucket), spent),
  });
  const rows =
    orderBy === "time"
      ? buckets.flatMap((bucket) => ordered.map((group) => row(bucket, group)))
      : ordered.flatMap((group) => buckets.map((bucket) => row(bucket, group)));
  return { rows, bytes };
};

/**
 * How many events there were, by time and group (management §6): in two readings, of which the first finds the groups, so that
 * neither holds more groups times intervals than are answered. Fails with the `ServiceError`s of analytics §2 that are no fault of
 * SQL, and 400 for more than 10,000 rows.
 */
export const createUsage = (options: UsageOptions): ((call: UsageCall) => Promise<JsonObject[]>) => {
  const { clock, database, ready, isIsolated, execution, retentionDays, querySeconds } = options;
  const { inTurn, execute } = execution;
  const askShared = createSharedAnswers<Shown>({
    clock,
    keepMs: SHARED_MS,
    maxWeight: SHARED_BYTES,
    weightOf: ({ bytes }) => bytes + ANSWER_BYTES,
  });

  const count = async (question: UsageQuestion, sql: UsageSql, signal: AbortSignal): Promise<Shown> => {
    const { groupBy, limit, granularity } = question;
    const isGrouped = groupBy.length > 0;
    const found = isGrouped ? await execute(sql.groups(limit + 1), signal) : [{}];
    const hasOthers = found.length > limit;
    const most = countBuckets(question, granularity) * found.length;
    if (most > MOST_CELLS) throw tooManyCells(question, found.length, most);
    if (found.length === 0) return { rows: [], bytes: 0 };
    const shown = found.slice(0, limit);
    const groups = shown.map((row): Group => {
      const values = Object.fromEntries(groupBy.map((field) => [field, row[`f_${field}`] ?? null]));
      return { values, total: 0, cells: new Map() };
    });
    const rest: Group = { values: { other: true }, total: 0, cells: new Map() };
    const ids = isGrouped ? shown.map(({ id }) => String(id)) : undefined;
    for (const cell of await execute(sql.cells(ids, hasOthers, most), signal)) {
      const group = groups[Number(cell.position) - 1] ?? rest;
      group.cells.set(Number(cell.bucket), cell);
      group.total += Number(cell.count);
    }
    return showRows(question, hasOthers ? [...groups, rest] : groups);
  };

  const answer = async ({ question, scope, now }: UsageCall, parts: readonly Part[], signal: AbortSignal): Promise<Shown> => {
    const { scopeColumn } = usageKinds[question.kind].dataset;
    const [first = 0n, second = 0n] = getRandomValues(new BigUint64Array(2));
    const visibility = { database, scopeColumn, scope, since: earliestTime(now, retentionDays) };
    const sql = usageSql({ question, parts, visibility, hashKey: [first, second] });
    try {
      await ready();
      if (scope !== undefined) await requireIsolation(isIsolated);
      return await inTurn(async () => {
        signal.throwIfAborted();
        return count(question, sql, signal);
      });
    } catch (error) {
      signal.throwIfAborted();
      // The statement is ours: what the engine does not take of it is no fault of the caller's.
      if (error instanceof EngineError && isOfStatement(error)) throw error;
      throw toQueryError(error, { querySeconds, database, secrets: [] });
    }
  };

  return async (call) => {
    const { question, scope, now, signal } = call;
    requireRetained(question.start, now, retentionDays);
    const buckets = countBuckets(question, question.granularity);
    // However few groups there are.
    if (buckets > MOST_CELLS) throw tooManyCells(question, 1, buckets);
    const parts = partsOf(question, now);
    // What another root key, or this one with other permissions, may see is another question.
    const key = hash("sha256", JSON.stringify([question, scope?.toSorted()]));
    try {
      return (await askShared(key, signal, (shared) => answer(call, parts, shared))).rows;
    } catch (error) {
      // Each call says of its own error what it was degraded in.
      if (!(error instanceof ServiceError)) throw error;
      throw new ServiceError(error.reason, error.message, { cause: error, violations: error.violations });
    }
  };
};
