import { randomBytes } from "node:crypto";
import type { Clock } from "../../platform/base/clock.ts";
import { type TraceOperation, untraced } from "../../platform/telemetry/tracing/tracer.ts";
import type { Limiter } from "../ratelimit/limiter.ts";
import { connectEmbedded, connectServer } from "./connection.ts";
import { createDropReport } from "./dropReport.ts";
import { EngineUnavailableError } from "./engineErrors.ts";
import { createErasePerson, type ErasePerson } from "./erasePerson.ts";
import type { RatelimitEvent, VerificationEvent } from "./events.ts";
import { createExecution } from "./execution.ts";
import { createIsolationProof } from "./isolationProof.ts";
import type { JsonObject } from "./json.ts";
import { createQueries, type Query } from "./queries.ts";
import { createQuota, type Quota } from "./quota.ts";
import { createRecorder } from "./recorder.ts";
import { ratelimitRow, verificationRow } from "./rows.ts";
import { type Dataset, ratelimits, verifications } from "./tables/schema.ts";
import { createTail, type Tail } from "./tail/createTail.ts";
import { createUsage, type UsageCall } from "./usage/createUsage.ts";

/** Events of one kind that wait at most: three seconds of what one node can verify. */
const CAPACITY = { events: 100_000, bytes: 64 * 1024 ** 2 };
/** A query never gets all of the engine's memory: inserts need some. */
const QUERY_SHARE = 0.6;
const QUERY_BYTES = 1_000_000_000;
/** Enough that no two processes have the same name. */
const WRITER_BYTES = 9;

/** Events and queries over them (analytics). */
export interface Analytics {
  /** Never fails, never waits. */
  readonly recordVerification: (event: VerificationEvent) => void;
  readonly recordRatelimit: (event: RatelimitEvent) => void;
  /** The rows of a caller's query. Fails with the `ServiceError`s of analytics §2. */
  readonly query: (query: Query) => Promise<JsonObject[]>;
  /** How many events there were, by time and group. Fails with those that are no fault of SQL. */
  readonly usage: (call: UsageCall) => Promise<JsonObject[]>;
  /** The events as they reach analytics. */
  readonly tail: Tail["follow"];
  /** To be called before what waits for calls is stopped: whoever waits for events gets his answer. */
  readonly endTails: Tail["endWaiting"];
  readonly erasePerson: ErasePerson;
  /** What is left of the quota of queries. */
  readonly quotaLeft: Quota["left"];
  readonly start: () => void;
  /** Writes what waits, for 8 s at most, and ends the embedded engine. */
  readonly stop: () => Promise<void>;
}

/** What an operator hears of. */
export interface AnalyticsObserver {
  readonly written: (table: string, rows: number, milliseconds: number) => void;
  readonly dropped: (table: string, rows: number) => void;
  readonly buffered: (rows: number) => void;
  /** The store answers again, or no longer. */
  readonly state: (up: boolean, cause?: unknown) => void;
  readonly engineDied: (reason: string) => void;
  /** Scoped queries are refused: this version of the engine shows them rows of others, as with these queries. */
  readonly isolationLeaks: (version: string, queries: readonly string[]) => void;
  /** At most once a minute: events dropped since the last time. */
  readonly dropsReported: (count: number, cause: unknown) => void;
}

export interface AnalyticsOptions {
  readonly clock: Clock;
  /** One that nobody turns. */
  readonly commonClock: Clock;
  readonly limiter: Limiter;
  readonly observer: AnalyticsObserver;
  readonly workspaceId: string;
  /** ClickHouse's HTTP interface; undefined = the embedded engine in `directory`. */
  readonly clickhouseUrl: string | undefined;
  readonly cluster: string | undefined;
  readonly directory: string;
  /** Bytes that the embedded engine may use. */
  readonly memory: number;
  readonly retentionDays: number;
  readonly limits: {
    readonly querySeconds: number;
    readonly rowsRead: number;
    readonly queriesPerHour: number;
    readonly secondsPerHour: number;
  };
  /** False keeps events for ever: for a clock that callers turn. */
  readonly expire: boolean;
  /** Undefined where nothing is traced. */
  readonly trace?: TraceOperation | undefined;
}

/** Nothing is opened or started before the first event or query. */
export const createAnalytics = (options: AnalyticsOptions): Analytics => {
  const { clock, commonClock, limiter, observer, workspaceId, clickhouseUrl, cluster, memory, retentionDays, limits, expire } = options;
  const { trace = untraced } = options;
  const schema = { cluster, workspaceId, expire };
  const connection =
    clickhouseUrl === undefined
      ? connectEmbedded({ directory: options.directory, memory, schema, onDeath: observer.engineDied })
      : connectServer({ url: clickhouseUrl, schema });
  const { database, clickhouse } = connection;
  const isIsolated = createIsolationProof({ clickhouse, database, cluster, onLeak: observer.isolationLeaks });
  let isTold = false;
  const ready = async (): Promise<void> => {
    await connection.ready();
    if (isTold) return;
    // So that an operator hears of a leak when the engine starts; what cannot be told now is asked again by a query.
    isTold = true;
    void isIsolated().catch(() => undefined);
  };

  let isUp: boolean | undefined;
  const setState = (up: boolean, cause?: unknown): void => {
    if (isUp !== up) observer.state(up, cause);
    isUp = up;
  };
  const watched = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      const result = await run();
      setState(true);
      return result;
    } catch (error) {
      if (error instanceof EngineUnavailableError) setState(false, error);
      throw error;
    }
  };

  const drops = createDropReport(clock, observer.dropsReported);
  /** Of this process: rows are counted for each anew. */
  const writer = randomBytes(WRITER_BYTES).toString("base64url");
  const record = <E>({ name, inlet, insertColumns }: Dataset, serialise: (event: E, writer: string, seq: number) => string) => {
    const statement = `INSERT INTO ${database}_internal.${inlet} (${insertColumns.join(", ")}) FORMAT JSONCompactEachRow`;
    const traced = { system: "clickhouse", name: "INSERT", collection: name, standsAlone: true };
    return createRecorder<E>({
      clock,
      capacity: CAPACITY,
      serialise: (event, seq) => serialise(event, writer, seq),
      insert: (rows, token) =>
        watched(async () => {
          await ready();
          const settings = {
            insert_deduplication_token: token,
            insert_deduplicate: 1,
            deduplicate_blocks_in_dependent_materialized_views: 1,
            // One block, so that the token stands for all rows.
            input_format_parallel_parsing: 0,
            async_insert: 0,
          };
          await trace(traced, () => clickhouse.insert(statement, rows, { settings }));
        }),
      onDrop: (count, cause) => {
        observer.dropped(name, count);
        drops.add(count, cause);
      },
      onInsert: (rows, milliseconds) => observer.written(name, rows, milliseconds),
      onFailure: (error) => setState(false, error),
    });
  };
  const recorders = {
    verifications: record<VerificationEvent>(verifications, verificationRow),
    ratelimits: record<RatelimitEvent>(ratelimits, ratelimitRow),
  };

  const queryLimits = {
    ...limits,
    memory: clickhouseUrl === undefined ? Math.min(QUERY_BYTES, Math.floor(memory * QUERY_SHARE)) : QUERY_BYTES,
  };
  const asked = {
    clock,
    database,
    ready: () => watched(ready),
    isIsolated: () => watched(isIsolated),
    retentionDays,
    execution: createExecution(clickhouse, queryLimits, trace),
  };
  const quota = createQuota({ limiter, ...limits });
  const query = createQueries({ ...asked, clickhouse, quota, limits: queryLimits });
  const usage = createUsage({ ...asked, querySeconds: limits.querySeconds });

  const tail = createTail({ ...asked, ...asked.execution, clock: commonClock, querySeconds: limits.querySeconds });

  let timer: NodeJS.Timeout | undefined;
  return {
    recordVerification: recorders.verifications.record,
    recordRatelimit: recorders.ratelimits.record,
    query,
    usage,
    tail: tail.follow,
    endTails: tail.endWaiting,
    erasePerson: createErasePerson({ clickhouse, database, cluster, ready: asked.ready }),
    quotaLeft: quota.left,
    start: () => {
      recorders.verifications.start();
      recorders.ratelimits.start();
      timer = setInterval(() => {
        observer.buffered(recorders.verifications.size() + recorders.ratelimits.size());
        drops.report();
      }, 1_000);
      // A server may need its tables made long before the first event; the embedded engine is started when it is needed.
      if (clickhouseUrl !== undefined) void watched(ready).catch(() => undefined);
    },
    stop: async () => {
      tail.endWaiting();
      clearInterval(timer);
      await Promise.all([recorders.verifications.stop(), recorders.ratelimits.stop()]);
      drops.report(true);
      await connection.close();
    },
  };
};
