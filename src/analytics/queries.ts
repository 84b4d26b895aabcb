import type { Clock } from "../domain/clock.ts";
import type { ClickHouse, Settings } from "./clickhouse.ts";
import { EngineError } from "./engineErrors.ts";
import type { JsonObject } from "./json.ts";
import { toQueryError } from "./queryErrors.ts";
import type { Quota } from "./quota.ts";
import { readRows } from "./resultRows.ts";
import { type Dataset, sinceCondition } from "./schema.ts";
import { prepareQuery } from "./sql/prepareQuery.ts";
import { quoteText } from "./sql/tokens.ts";

const MAX_RESPONSE_BYTES = 4 * 1024 ** 2;
const MAX_RESULT_ROWS = 10_000_000;
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
  readonly quota: Quota;
  readonly retentionDays: number;
  readonly querySeconds: number;
  readonly rowsRead: number;
  /** Bytes of one query. */
  readonly memory: number;
}

/** Of every statement that holds something of a caller's. */
const sandbox: Settings = {
  readonly: 1,
  allow_ddl: 0,
  allow_introspection_functions: 0,
  implicit_select: 0,
  session_timezone: "UTC",
  // Memory is the limit, not the disk.
  max_bytes_before_external_group_by: 0,
  max_bytes_ratio_before_external_group_by: 0,
  max_bytes_before_external_sort: 0,
  max_bytes_ratio_before_external_sort: 0,
};

/** The rows of a dataset that a query sees, wherever it names a table. */
const tableFilters = (database: string, { dataset, scope, now }: Query, retentionDays: number): string => {
  const since = now - retentionDays * DAY_MS;
  const ids = scope?.map(quoteText).join(", ");
  const inScope = ids === undefined ? [] : [ids === "" ? "0" : `${dataset.scopeColumn} IN (${ids})`];
  const entries = dataset.tables.map((table) => {
    const condition = [sinceCondition(table, since), ...inScope].join(" AND ");
    return `${quoteText(`${database}.${table}`)}: ${quoteText(condition)}`;
  });
  return `{${entries.join(", ")}}`;
};

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
  const { clock, clickhouse, database, ready, quota, retentionDays, querySeconds, rowsRead, memory } = options;
  const gate = createGate(PARALLEL_QUERIES);

  const execute = async (sql: string, query: Query): Promise<JsonObject[]> => {
    const settings: Settings = {
      ...sandbox,
      default_format: "JSONCompactEachRowWithNamesAndTypes",
      additional_table_filters: tableFilters(database, query, retentionDays),
      max_execution_time: querySeconds,
      timeout_overflow_mode: "throw",
      max_memory_usage: memory,
      max_rows_to_read: rowsRead,
      max_result_rows: MAX_RESULT_ROWS,
      result_overflow_mode: "break",
      cancel_http_readonly_queries_on_client_close: 1,
      // A server keeps a response back until it knows that the query succeeds, unless it is larger than we read.
      http_response_buffer_size: 2 * MAX_RESPONSE_BYTES,
      date_time_output_format: "iso",
      output_format_json_quote_64bit_integers: 0,
      output_format_json_quote_denormals: 0,
    };
    const late = AbortSignal.timeout(querySeconds * 1_000 + GRACE_MS);
    const signal = AbortSignal.any([query.signal, late]);
    const text = await clickhouse.query(sql, { settings, signal, maxBytes: MAX_RESPONSE_BYTES }).catch((error: unknown) => {
      throw late.aborted ? new EngineError(TIMEOUT_EXCEEDED, "the engine did not end in time", { cause: error }) : error;
    });
    return readRows(text, MAX_RESPONSE_BYTES);
  };

  return async (query) => {
    const { dataset, now, signal } = query;
    const ask = async (sql: string): Promise<string> =>
      clickhouse.query(sql, {
        settings: { ...sandbox, max_execution_time: QUESTION_S, max_result_rows: 0 },
        signal,
        maxBytes: QUESTION_BYTES,
      });
    const secrets = [database, "additional_table_filters", "formatQuery", "EXPLAIN AST", ...(query.scope ?? [])];
    try {
      await ready();
      const sql = await gate(() => prepareQuery({ sql: query.sql, dataset, now, retentionDays, ask }));
      await quota.admit(now);
      return await gate(async () => {
        signal.throwIfAborted();
        const startedAt = clock.monotonic();
        try {
          return await execute(sql, query);
        } finally {
          await quota.spend(clock.monotonic() - startedAt, now);
        }
      });
    } catch (error) {
      // The deadline of the call, or its caller's leaving: told by what aborted it.
      signal.throwIfAborted();
      throw toQueryError(error, { querySeconds, database, secrets });
    }
  };
};
