import type { ClickHouse } from "../clickhouse.ts";
import { EngineError } from "../engineErrors.ts";
import { lookUpDatabase, migrations, onCluster, type SchemaOptions } from "./schema.ts";

/** A migration waits for the replicas of a cluster; seconds. */
const DDL_TIMEOUT_S = 60;

/** By ClickHouse's numbers: there is no such database, or no such table. */
const MISSING = new Set([81, 60]);

/** Version of the tables, 0 where there are none. */
const versionOf = async (clickhouse: ClickHouse, database: string): Promise<number> => {
  const answer = await clickhouse.query(`SELECT max(version) FROM ${database}_internal.migrations FORMAT TabSeparated`, { maxBytes: 1024 });
  return Number(answer.trim());
};

/** Version of the tables that this program makes. */
export const latestOf = (options: SchemaOptions): number => migrations(options).at(-1)?.version ?? 0;

const refuseNewer = (current: number, latest: number): void => {
  if (current > latest) throw new EngineError(0, `the tables have version ${current}, this program knows ${latest}: start a newer one`);
};

/** From which version to which `migrate` would bring the tables; undefined when they are up to date. Reads only. Refuses as that does. */
export const tablesDue = async (
  clickhouse: ClickHouse,
  options: SchemaOptions,
): Promise<{ readonly from: number; readonly to: number } | undefined> => {
  const to = latestOf(options);
  const from = await versionOf(clickhouse, options.database).catch((error: unknown) => {
    if (error instanceof EngineError && MISSING.has(error.code)) return 0;
    throw error;
  });
  refuseNewer(from, to);
  return from === to ? undefined : { from, to };
};

/**
 * Brings the tables up to date. Safe when several nodes do it at the same time: every statement may be repeated, and a
 * version is noted once its statements are done. Refuses a schema that is newer than this program.
 */
export const migrate = async (clickhouse: ClickHouse, options: SchemaOptions): Promise<void> => {
  const { database, cluster } = options;
  const everywhere = onCluster(cluster);
  const log = `${database}_internal.migrations`;
  const settings = { distributed_ddl_task_timeout: DDL_TIMEOUT_S };
  const run = (sql: string): Promise<void> => clickhouse.command(sql, { settings });

  await run(`CREATE DATABASE IF NOT EXISTS ${database}${everywhere}`);
  await run(`CREATE DATABASE IF NOT EXISTS ${database}_internal${everywhere}`);
  await run(`CREATE DATABASE IF NOT EXISTS ${lookUpDatabase(database)}${everywhere}`);
  const strangers = await clickhouse.query(
    `SELECT count() FROM system.tables WHERE database = '${lookUpDatabase(database)}' FORMAT TabSeparated`,
    { maxBytes: 1024 },
  );
  if (strangers.trim() !== "0") throw new EngineError(0, `the database ${lookUpDatabase(database)} must be empty: remove its tables`);
  await run(
    `CREATE TABLE IF NOT EXISTS ${log}${everywhere} (version UInt32, applied_at DateTime('UTC') DEFAULT now()) ` +
      `ENGINE = ${cluster === undefined ? "" : "Replicated"}ReplacingMergeTree ORDER BY version`,
  );
  const current = await versionOf(clickhouse, database);
  refuseNewer(current, latestOf(options));
  for (const { version, statements } of migrations(options)) {
    if (version <= current) continue;
    for (const statement of statements) await run(statement);
    await run(`INSERT INTO ${log} (version) VALUES (${version})`);
  }
};
