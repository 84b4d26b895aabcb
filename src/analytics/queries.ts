import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";
import type { ClickHouse } from "./clickhouse.ts";
import { EngineError } from "./engineErrors.ts";
import type { JsonObject } from "./json.ts";
import { errorOfRows, isOfStatement, toQueryError } from "./queryErrors.ts";
import { MAX_RESPONSE_BYTES, MAX_SQL_LENGTH, type QueryLimits, querySettings, sandbox } from "./querySettings.ts";
import type { Quota } from "./quota.ts";
import { readRows } from "./resultRows.ts";
import type { Dataset } from "./schema.ts";
import { type PreparedQuery, prepareQuery } from "./sql/prepareQuery.ts";
import { BARRIER, noRows, visibleRows } from "./visibleRows.ts";

const DAY_MS = 86_400_000;
/** What is asked about a query before it runs is answered at once, or not at all. */
const QUESTION_S = 5;
const QUESTION_BYTES = 1024 ** 2;
/** After its time is up, the engine gets this long to say so. */
const GRACE_MS = 3_000;
const TIMEOUT_EXCEEDED = 159;
/** Queries that run at the same time; further ones wait, so that inserts and the service keep room. */
const PARALLEL_QUERIES = 4;

export interface Query {
  readonly sql: string;
  readonly dataset: Dataset;
  /** Ids whose rows the caller may see; undefined = all. */
  readonly scope: readonly string[] | undefined;
  /** Unix ms. */
  readonly now: number;
  readonly signal: AbortSignal;
}

export interface QueriesOptions {
  readonly clock: Clock;
  readonly clickhouse: ClickHouse;
  readonly database: string;
  /** Resolves when the tables are there. */
  readonly ready: () => Promise<void>;
  readonly quota: Pick<Quota, "admit" | "spend">;
  /** Whether the engine keeps scoped queries to their scope. */
  readonly isIsolated: () => Promise<boolean>;
  readonly retentionDays: number;
  readonly limits: QueryLimits;
}

/** Lets at most `limit` tasks run at the same time, in the order of their arrival. */
const createGate = (limit: number): (<T>(task: () => Promise<T>) => Promise<T>) => {
  const waiting: (() => void)[] = [];
  let free = limit;
  return async (task) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
};

/** Runs callers' queries (analytics §§1–3): each is checked, kept to its scope, and bounded. */
export const createQueries = (options: QueriesOptions): ((query: Query) => Promise<JsonObject[]>) => {
  const { clock, clickhouse, database, ready, quota, isIsolated, retentionDays, limits } = options;
  const { querySeconds } = limits;
  const settings = querySettings(limits);
  const gate = createGate(PARALLEL_QUERIES);

  /** What is known of a statement before it reads a row. */
  const ask = async (sql: string, signal: AbortSignal): Promise<string> =>
    clickhouse.query(sql, {
      settings: { ...sandbox, max_query_size: settings.max_query_size ?? 0, max_execution_time: QUESTION_S, max_result_rows: 0 },
      signal,
      maxBytes: QUESTION_BYTES,
    });

  const requireIsolation = async (): Promise<void> => {
    if (await isIsolated()) return;
    throw new ServiceError(
      "analytics_not_configured",
      "The analytics store does not keep queries to the ids of their root key, so only root keys that may read the analytics of all can query it.",
    );
  };

  const write = ({ freshName: name, render }: PreparedQuery, { dataset, scope, now }: Query): string => {
    const visibility = { database, scopeColumn: dataset.scopeColumn, scope, since: now - retentionDays * DAY_MS, name };
    const sql = render((reference) => visibleRows(reference, visibility));
    if (sql.length <= MAX_SQL_LENGTH) return sql;
    throw new ServiceError(
      "invalid_analytics_query",
      "The query names its tables too often for the number of ids that the root key may see.",
    );
  };

  const execute = async (sql: string, query: Query): Promise<JsonObject[]> => {
    const late = AbortSignal.timeout(querySeconds * 1_000 + GRACE_MS);
    const signal = AbortSignal.any([query.signal, late]);
    const text = await clickhouse.query(sql, { settings, signal, maxBytes: MAX_RESPONSE_BYTES }).catch((error: unknown) => {
      throw late.aborted ? new EngineError(TIMEOUT_EXCEEDED, "the engine did not end in time", { cause: error }) : error;
    });
    return readRows(text, MAX_RESPONSE_BYTES);
  };

  /** The same error of the same query over no rows, whose message can repeat no value; else that it is one of the rows. */
  const explain = async (error: EngineError, { render }: PreparedQuery, { signal }: Query): Promise<Error> => {
    const same = await ask(
      render((reference) => noRows(reference, database)),
      signal,
    ).then(
      () => undefined,
      (other: unknown) => other,
    );
    return same instanceof EngineError && same.code === error.code ? same : errorOfRows(error);
  };

  return async (query) => {
    const { dataset, now, signal } = query;
    try {
      await ready();
      if (query.scope !== undefined) await requireIsolation();
      const prepared = await gate(() => prepareQuery({ sql: query.sql, dataset, now, retentionDays, ask: (sql) => ask(sql, signal) }));
      const sql = write(prepared, query);
      await quota.admit(now);
      return await gate(async () => {
        signal.throwIfAborted();
        const startedAt = clock.monotonic();
        try {
          return await execute(sql, query);
        } catch (error) {
          throw error instanceof EngineError && isOfStatement(error) ? await explain(error, prepared, query) : error;
        } finally {
          await quota.spend(clock.monotonic() - startedAt, now);
        }
      });
    } catch (error) {
      // The deadline of the call, or its caller's leaving: told by what aborted it.
      signal.throwIfAborted();
      throw toQueryError(error, { querySeconds, database, secrets: [database, "formatQuery", "EXPLAIN AST", BARRIER] });
    }
  };
};
