import { join } from "node:path";
import { type Connection, connectEmbedded } from "../src/features/analytics/connection.ts";
import { eventTables } from "../src/features/analytics/transfer/eventTables.ts";
import { WORKSPACE_ID } from "../src/platform/storage/port/baseDocument.ts";

const MEMORY = 1024 ** 3;
/** Rows of one INSERT: their time falls into a few hours, as that of real events does. */
const BATCH = 500_000;
const DAYS = 29;

const connect = async (dataDir: string): Promise<Connection> => {
  const connection = connectEmbedded({
    directory: join(dataDir, "analytics"),
    memory: MEMORY,
    schema: { cluster: undefined, workspaceId: WORKSPACE_ID, expire: true },
    onDeath: (reason) => console.error(`the engine ended: ${reason}`),
  });
  await connection.ready();
  return connection;
};

/**
 * Fills the tables of a directory of data with verifications: spread evenly over the last days, 29 unless told, of 50 keys of ten APIs,
 * each with an outcome of its own, most of them VALID. The engine makes them itself.
 */
export const loadEvents = async (dataDir: string, count: number, days: number = DAYS): Promise<void> => {
  const connection = await connect(dataDir);
  const columns = "request_id, time, key_space_id, identity_id, external_id, key_id, outcome, tags, spent_credits, latency";
  for (let from = 0; from < count; from += BATCH) {
    const rows = Math.min(BATCH, count - from);
    const time = `toInt64(toUnixTimestamp64Milli(now64(3))) - toInt64(${days} * 86400000 * (1 - number / ${count}))`;
    const outcome =
      "arrayElement(['VALID','VALID','VALID','VALID','VALID','VALID','RATE_LIMITED','USAGE_EXCEEDED','EXPIRED','DISABLED'], 1 + number % 10)";
    await connection.clickhouse.command(
      `INSERT INTO ${connection.database}.key_verifications_v1 (${columns}) ` +
        `SELECT concat('req_', toString(number)), ${time}, concat('api_', toString(number % 10)), '', '', ` +
        `concat('key_', toString(number % 50)), ${outcome}, ['path=/'], 1, intHash32(number) % 100 / 50 ` +
        `FROM numbers(${from}, ${rows})`,
    );
  }
  await connection.close();
};

/** What a directory of data holds of events and sums, in a form that two can be compared by: of each table the number of rows and a hash, whatever their order. */
export const digestEvents = async (dataDir: string): Promise<string> => {
  const { clickhouse, database, close } = await connect(dataDir);
  try {
    const lines = await Promise.all(
      eventTables.map(({ name, events }) => {
        // Rows of sums that were not merged yet count as merged.
        const final = events === "count()" ? "" : " FINAL";
        const sql = `SELECT '${name}', count(), sum(cityHash64(*)) FROM ${database}.${name}${final} FORMAT TabSeparated`;
        return clickhouse.query(sql, { maxBytes: 1_000 });
      }),
    );
    return lines.join("");
  } finally {
    await close();
  }
};
