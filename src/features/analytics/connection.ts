import { Agent } from "node:http";
import { type ClickHouse, openClickHouse } from "./clickhouse.ts";
import { createEngineProcess } from "./embedded/engineProcess.ts";
import { migrate, tablesDue } from "./tables/migrateTables.ts";
import { lookUpDatabase, type SchemaOptions } from "./tables/schema.ts";

const DATABASE = "latchkey";
/** Longer than any query may run. */
const TIMEOUT_MS = 90_000;

/** The engine behind ClickHouse's HTTP interface, wherever it runs. */
export interface Connection {
  readonly database: string;
  readonly clickhouse: ClickHouse;
  /** Resolves once the tables are there; tries again when that failed before. */
  readonly ready: () => Promise<void>;
  readonly close: () => Promise<void>;
}

type Schema = Omit<SchemaOptions, "database">;

/** Runs `make` until it has succeeded once for the present `generation`; callers at the same time share a run. */
const oncePer = (generation: () => number, make: () => Promise<void>): (() => Promise<void>) => {
  let done: number | undefined;
  let running: Promise<void> | undefined;
  return async () => {
    const current = generation();
    if (done === current) return;
    running ??= make()
      .then(() => {
        done = current;
      })
      .finally(() => {
        running = undefined;
      });
    await running;
  };
};

const openServer = (url: string): { readonly database: string; readonly clickhouse: ClickHouse } => {
  const server = new URL(url);
  const database = server.pathname.replaceAll("/", "") || DATABASE;
  server.pathname = "";
  return { database, clickhouse: openClickHouse({ url: server.href, database: lookUpDatabase(database), timeoutMs: TIMEOUT_MS }) };
};

/** A ClickHouse server. @param url may name user, password and database. */
export const connectServer = ({ url, schema }: { readonly url: string; readonly schema: Schema }): Connection => {
  const { database, clickhouse } = openServer(url);
  return {
    database,
    clickhouse,
    ready: oncePer(
      () => 0,
      () => migrate(clickhouse, { ...schema, database }),
    ),
    close: clickhouse.close,
  };
};

/** The version of a ClickHouse server, whether its tables are there or not. */
export const askVersion = async (url: string): Promise<string> => {
  const { clickhouse } = openServer(url);
  try {
    return await clickhouse.version();
  } finally {
    await clickhouse.close();
  }
};

/**
 * Brings the tables of a ClickHouse server up to date, unless `isDry`.
 * @returns from which version to which; undefined when they are up to date
 */
export const migrateServer = async (url: string, schema: Schema, isDry: boolean): ReturnType<typeof tablesDue> => {
  const { database, clickhouse } = openServer(url);
  try {
    const due = await tablesDue(clickhouse, { ...schema, database });
    if (due !== undefined && !isDry) await migrate(clickhouse, { ...schema, database });
    return due;
  } finally {
    await clickhouse.close();
  }
};

export interface EmbeddedOptions {
  readonly directory: string;
  /** Bytes. */
  readonly memory: number;
  readonly schema: Schema;
  readonly onDeath: (reason: string) => void;
}

/** The embedded engine, started when it is first asked for something. */
export const connectEmbedded = ({ directory, memory, schema, onDeath }: EmbeddedOptions): Connection => {
  const engine = createEngineProcess({ directory, memory, onDeath });
  let opened: ClickHouse | undefined;
  let agent: Agent | undefined;
  const open = async (): Promise<ClickHouse> => {
    const socketPath = await engine.running();
    // `socketPath` reaches the connections, though the types of an agent's options do not name it.
    const options = { keepAlive: true, socketPath };
    agent ??= new Agent(options);
    opened ??= openClickHouse({ url: "http://engine", database: lookUpDatabase(DATABASE), agent, timeoutMs: TIMEOUT_MS });
    return opened;
  };
  const clickhouse: ClickHouse = {
    command: async (sql, options) => (await open()).command(sql, options),
    insert: async (sql, rows, options) => (await open()).insert(sql, rows, options),
    download: async (sql, options) => (await open()).download(sql, options),
    query: async (sql, options) => (await open()).query(sql, options),
    version: async () => (await open()).version(),
    close: async () => opened?.close(),
  };
  const migrated = oncePer(engine.generation, () => migrate(clickhouse, { ...schema, database: DATABASE }));
  return {
    database: DATABASE,
    clickhouse,
    ready: async () => {
      await engine.running();
      await migrated();
    },
    close: async () => {
      await clickhouse.close();
      agent?.destroy();
      await engine.stop();
    },
  };
};
