import { type TraceOperation, untraced } from "../../platform/telemetry/tracing/tracer.ts";
import type { ClickHouse } from "./clickhouse.ts";
import { EngineError } from "./engineErrors.ts";
import type { JsonObject } from "./json.ts";
import { MAX_RESPONSE_BYTES, type QueryLimits, querySettings } from "./querySettings.ts";
import { readRows } from "./resultRows.ts";

/** After its time is up, the engine gets this long to say so. */
const GRACE_MS = 3_000;
const TIMEOUT_EXCEEDED = 159;
/** Queries that run at the same time; further ones wait, so that inserts and the service keep room. */
const PARALLEL_QUERIES = 4;

/** Runs what is asked for callers, within the bounds of one query each. */
export interface Execution {
  /** Waits for one of the four places that all queries share. */
  readonly inTurn: <T>(task: () => Promise<T>) => Promise<T>;
  /**
   * The rows of a statement. Fails with `EngineError`, `EngineUnavailableError` and, beyond `maxBytes` (4 MiB unless given),
   * `AnswerTooLargeError`.
   */
  readonly execute: (sql: string, signal: AbortSignal, maxBytes?: number) => Promise<JsonObject[]>;
}

/** Lets at most `limit` tasks run at the same time, in the order of their arrival. */
const createGate = (limit: number): Execution["inTurn"] => {
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

const select = { system: "clickhouse", name: "SELECT" };

export const createExecution = (clickhouse: ClickHouse, limits: QueryLimits, trace: TraceOperation = untraced): Execution => {
  const settings = querySettings(limits);
  return {
    inTurn: createGate(PARALLEL_QUERIES),
    execute: async (sql, leaving, maxBytes = MAX_RESPONSE_BYTES) => {
      const late = AbortSignal.timeout(limits.querySeconds * 1_000 + GRACE_MS);
      const signal = AbortSignal.any([leaving, late]);
      const text = await trace(select, () => clickhouse.query(sql, { settings, signal, maxBytes })).catch((error: unknown) => {
        throw late.aborted ? new EngineError(TIMEOUT_EXCEEDED, "the engine did not end in time", { cause: error }) : error;
      });
      return readRows(text, maxBytes);
    },
  };
};
