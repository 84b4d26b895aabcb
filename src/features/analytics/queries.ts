import type { Clock } from "../../platform/base/clock.ts";
import { ServiceError } from "../../platform/base/errors.ts";
import type { ClickHouse } from "./clickhouse.ts";
import { EngineError } from "./engineErrors.ts";
import type { Execution } from "./execution.ts";
import type { JsonObject } from "./json.ts";
import { errorOfRows, isOfStatement, toQueryError } from "./queryErrors.ts";
import { MAX_SQL_LENGTH, type QueryLimits, querySettings, sandbox } from "./querySettings.ts";
import type { Quota } from "./quota.ts";
import { type PreparedQuery, prepareQuery } from "./sql/prepareQuery.ts";
import { earliestTime } from "./tables/retention.ts";
import type { Dataset } from "./tables/schema.ts";
import { BARRIER, noRows, visibleRows } from "./visibleRows.ts";

/** What is asked about a query before it runs is answered at once, or not at all. */
const QUESTION_S = 5;
const QUESTION_BYTES = 1024 ** 2;

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
  readonly execution: Execution;
}

/** 412 where the engine does not keep what a scoped root key asks to its ids (DESIGN §9). */
export const requireIsolation = async (isIsolated: () => Promise<boolean>): Promise<void> => {
  if (await isIsolated()) return;
  throw new ServiceError(
    "analytics_not_configured",
    "The analytics store does not keep queries to the ids of their root key, so only root keys that may read the analytics of all can query it.",
  );
};

/** Runs callers' queries (analytics §§1–3): each is checked, kept to its scope, and bounded. */
export const createQueries = (options: QueriesOptions): ((query: Query) => Promise<JsonObject[]>) => {
  const { clock, clickhouse, database, ready, quota, isIsolated, retentionDays, limits } = options;
  const { inTurn, execute } = options.execution;
  const { querySeconds } = limits;
  const settings = querySettings(limits);

  /** What is known of a statement before it reads a row. */
  const ask = async (sql: string, signal: AbortSignal): Promise<string> =>
    clickhouse.query(sql, {
      settings: { ...sandbox, max_query_size: settings.max_query_size ?? 0, max_execution_time: QUESTION_S, max_result_rows: 0 },
      signal,
      maxBytes: QUESTION_BYTES,
    });

  const write = ({ freshName: name, render }: PreparedQuery, { dataset, scope, now }: Query): string => {
    const visibility = { database, scopeColumn: dataset.scopeColumn, scope, since: earliestTime(now, retentionDays), name };
    const sql = render((reference) => visibleRows(reference, visibility));
    if (sql.length <= MAX_SQL_LENGTH) return sql;
    throw new ServiceError(
      "invalid_analytics_query",
      "The query names its tables too often for the number of ids that the root key may see.",
    );
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
      if (query.scope !== undefined) await requireIsolation(isIsolated);
      const prepared = await inTurn(() => prepareQuery({ sql: query.sql, dataset, now, retentionDays, ask: (sql) => ask(sql, signal) }));
      const sql = write(prepared, query);
      await quota.admit(now);
      return await inTurn(async () => {
        signal.throwIfAborted();
        const startedAt = clock.monotonic();
        try {
          return await execute(sql, signal);
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
