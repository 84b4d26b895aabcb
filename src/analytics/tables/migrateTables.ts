import type { ClickHouse } from "../clickhouse.ts";
import { EngineError } from "../engineErrors.ts";
import { lookUpDatabase, migrations, onCluster, type SchemaOptions } from "./schema.ts";

/** A migration waits for the replicas of a cluster; seconds. */
const DDL_TIMEOUT_S = 60;

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
  const answer = await clickhouse.query(`SELECT max(version) FROM ${log} FORMAT TabSeparated`, { maxBytes: 1024 });
  const current = Number(answer.trim());
  const known = migrations(options);
  const latest = known.at(-1)?.version ?? 0;
  if (current > latest) {
    throw new EngineError(0, `the tables have version ${current}, this program knows ${latest}: start a newer one`);
  }
  for (const { version, statements } of known) {
    if (version <= current) continue;
    for (const statement of statements) await run(statement);
    await run(`INSERT INTO ${log} (version) VALUES (${version})`);
  }
};
