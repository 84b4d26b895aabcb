import { join } from "node:path";
import { connectEmbedded } from "../src/analytics/connection.ts";
import { WORKSPACE_ID } from "../src/storage/port/baseDocument.ts";

const MEMORY = 1024 ** 3;
/** Rows of one INSERT: their time falls into a few hours, as that of real events does. */
const BATCH = 500_000;
const DAYS = 29;

/**
 * Fills the tables of a directory of data with verifications: spread evenly over the last 29 days, of 50 keys of ten APIs,
 * each with an outcome of its own, most of them VALID. The engine makes them itself.
 */
export const loadEvents = async (dataDir: string, count: number): Promise<void> => {
  const connection = connectEmbedded({
    directory: join(dataDir, "analytics"),
    memory: MEMORY,
    schema: { cluster: undefined, workspaceId: WORKSPACE_ID, expire: true },
    onDeath: (reason) => console.error(`the engine ended: ${reason}`),
  });
  await connection.ready();
  const columns = "request_id, time, key_space_id, identity_id, external_id, key_id, outcome, tags, spent_credits, latency";
  for (let from = 0; from < count; from += BATCH) {
    const rows = Math.min(BATCH, count - from);
    const time = `toInt64(toUnixTimestamp64Milli(now64(3))) - toInt64(${DAYS} * 86400000 * (1 - number / ${count}))`;
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
