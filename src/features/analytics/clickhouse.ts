import type { Agent } from "node:http";
import { Readable } from "node:stream";
import { ClickHouseError, type ClickHouseSettings, createClient } from "@clickhouse/client";
import { AnswerTooLargeError, EngineError, EngineUnavailableError } from "./engineErrors.ts";

/** Settings of one statement, by ClickHouse's names. */
export type Settings = Readonly<Record<string, string | number>>;

export interface StatementOptions {
  readonly settings?: Settings;
  /** Gives up waiting; a running query is ended by the engine. */
  readonly signal?: AbortSignal;
}

/** What we use of a ClickHouse server. Fails with `EngineError` and `EngineUnavailableError`. */
export interface ClickHouse {
  /** Runs a statement without a result. */
  readonly command: (sql: string, options?: StatementOptions) => Promise<void>;
  /** Runs an INSERT that names its format. */
  readonly insert: (sql: string, rows: Buffer | Readable, options?: StatementOptions) => Promise<void>;
  /** Runs a query; resolves to its result as it comes, in the format that it names. Unqualified tables are nobody's. */
  readonly download: (sql: string, options?: StatementOptions) => Promise<Readable>;
  /**
   * Runs a query; resolves to its result in the format that it names. Unqualified tables are those of the database.
   * Fails with `AnswerTooLargeError` beyond `maxBytes`.
   */
  readonly query: (sql: string, options: StatementOptions & { readonly maxBytes: number }) => Promise<string>;
  /** Of the server. Needs no database of ours. */
  readonly version: () => Promise<string>;
  readonly close: () => Promise<void>;
}

export interface ClickHouseOptions {
  /** `http[s]://[user:password@]host[:port]` */
  readonly url: string;
  /** Database of unqualified names in queries. */
  readonly database: string;
  /** Instead of one of the client's own. */
  readonly agent?: Agent;
  /** Of one statement, beyond which the server counts as away. */
  readonly timeoutMs: number;
}

/** What ClickHouse says of an error, in whatever form it came. */
const parseEngineError = (text: string): EngineError | undefined => {
  const [, code, message = ""] = /Code: (\d+)\. (?:DB::Exception: )?(.*)/s.exec(text) ?? [];
  return code === undefined ? undefined : new EngineError(Number(code), message);
};

const translate = (error: unknown): Error => {
  if (error instanceof AnswerTooLargeError || error instanceof EngineError) return error;
  if (error instanceof ClickHouseError) return new EngineError(Number(error.code), error.message, { cause: error });
  const message = error instanceof Error ? error.message : String(error);
  return parseEngineError(message) ?? new EngineUnavailableError("the analytics store does not answer", { cause: error });
};

const asAnalyticsError = async <T>(run: () => Promise<T>): Promise<T> => {
  try {
    return await run();
  } catch (error) {
    throw translate(error);
  }
};

const readAll = async (stream: AsyncIterable<Buffer>, maxBytes: number): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (bytes > maxBytes) throw new AnswerTooLargeError(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
};

const VERSION = "SELECT version() FORMAT TabSeparatedRaw";
const VERSION_BYTES = 1_024;
/** Of the answer to an INSERT, which is empty. */
const INSERT_BYTES = 1_024 ** 2;

/** A client of ClickHouse's HTTP interface; connects when it is first used. */
export const openClickHouse = ({ url, database, agent, timeoutMs }: ClickHouseOptions): ClickHouse => {
  const common = {
    url,
    request_timeout: timeoutMs,
    log: { level: 127 as const },
    // Each client would close what it takes for idle sockets of an agent that both share.
    ...(agent ? { http_agent: agent, keep_alive: { enabled: true, idle_socket_ttl: 0 } } : {}),
  };
  // The database exists only once the migrations have run; until then nothing may name it.
  const administrator = createClient(common);
  const reader = createClient({ ...common, database });
  const options = ({ settings, signal }: StatementOptions) => ({
    ...(settings ? { clickhouse_settings: settings as ClickHouseSettings } : {}),
    ...(signal ? { abort_signal: signal } : {}),
  });
  return {
    command: (sql, statement = {}) =>
      asAnalyticsError(async () => {
        await administrator.command({ query: sql, ...options(statement) });
      }),
    insert: (sql, rows, statement = {}) =>
      asAnalyticsError(async () => {
        const { stream } = await administrator.exec({
          query: sql,
          values: rows instanceof Readable ? rows : Readable.from([rows], { objectMode: false }),
          ...options(statement),
        });
        await readAll(stream, INSERT_BYTES);
      }),
    download: (sql, statement = {}) =>
      asAnalyticsError(async () => (await administrator.exec({ query: sql, ...options(statement) })).stream),
    query: (sql, statement) =>
      asAnalyticsError(async () => readAll((await reader.exec({ query: sql, ...options(statement) })).stream, statement.maxBytes)),
    version: () =>
      asAnalyticsError(async () => (await readAll((await administrator.exec({ query: VERSION })).stream, VERSION_BYTES)).trim()),
    close: async () => {
      await Promise.all([administrator.close(), reader.close()]);
    },
  };
};
