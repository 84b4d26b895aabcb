import { ServiceError } from "../../platform/base/errors.ts";
import type { ClickHouse } from "./clickhouse.ts";
import { EngineError, isTrouble } from "./engineErrors.ts";
import { quoteText } from "./sql/tokens.ts";
import { onCluster, verifications } from "./tables/schema.ts";

/**
 * Removes the verifications of a person, from the single events and from all sums; how many there were (data §4). May be repeated, and
 * be left at any point. 503 `analytics_connection_failed` where the engine does not get it done.
 * @param livingId the identity that has the externalId now, whose events stay
 */
export type ErasePerson = (externalId: string, livingId: string | undefined) => Promise<number>;

const COUNT_BYTES = 1_024;
/** Waits for all replicas. */
const DONE_EVERYWHERE = 2;

export interface ErasePersonOptions {
  readonly clickhouse: ClickHouse;
  readonly database: string;
  readonly cluster: string | undefined;
  readonly ready: () => Promise<void>;
}

export const createErasePerson = ({ clickhouse, database, cluster, ready }: ErasePersonOptions): ErasePerson => {
  const [raw = "", ...sums] = verifications.tables.map((table) => `${database}.${table}`);
  const inlet = `${database}_internal.${verifications.inlet}`;
  const count = async (table: string, condition: string): Promise<number> =>
    Number(
      (await clickhouse.query(`SELECT count() FROM ${table} WHERE ${condition} FORMAT TabSeparated`, { maxBytes: COUNT_BYTES })).trim(),
    );
  return async (externalId, livingId) => {
    const others = livingId === undefined ? "" : ` AND identity_id != ${quoteText(livingId)}`;
    const condition = `external_id = ${quoteText(externalId)}${others}`;
    try {
      await ready();
      const events = await count(raw, condition);
      // The single events last: they are counted again by whoever goes on after a death.
      for (const table of [inlet, ...sums, raw]) {
        if ((await count(table, condition)) === 0) continue;
        await clickhouse.command(`ALTER TABLE ${table}${onCluster(cluster)} DELETE WHERE ${condition}`, {
          settings: { mutations_sync: DONE_EVERYWHERE },
        });
      }
      return events;
    } catch (cause) {
      if (!isTrouble(cause) && !(cause instanceof EngineError)) throw cause;
      const detail = "The analytics store has not removed the person's events yet. Repeat the call: it goes on from here.";
      throw new ServiceError("analytics_connection_failed", detail, { cause });
    }
  };
};
