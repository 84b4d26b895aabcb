// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClickHouse, openClickHouse } from "../../src/features/analytics/clickhouse.ts";
import { migrate } from "../../src/features/analytics/tables/migrateTables.ts";
import { keptSince, migrations, ratelimits, type SchemaOptions } from "../../src/features/analytics/tables/schema.ts";
import { type Place, server } from "./places.ts";

const options: SchemaOptions = { database: "latchkey", cluster: undefined, workspaceId: "ws_1", expire: true };
const statementsOf = (overrides: Partial<SchemaOptions>): readonly string[] =>
  migrations({ ...options, ...overrides }).flatMap(({ statements }) => statements);

describe("the tables", () => {
  let place: Place;
  let clickhouse: ClickHouse;
  const names = async (): Promise<string[]> => {
    const query = "SELECT concat(database, '.', name) FROM system.tables WHERE database LIKE 'latchkey%' ORDER BY 1 FORMAT TabSeparated";
    return (await clickhouse.query(query, { maxBytes: 10_000 })).trim().split("\n");
  };
  beforeAll(async () => {
    place = await server.open();
    clickhouse = openClickHouse({ url: place.options.clickhouseUrl ?? "", database: "latchkey", timeoutMs: 60_000 });
  });
  afterAll(async () => {
    await clickhouse.close();
    await place.close();
  });

  test("are made once, also when several nodes start at once", async () => {
    await Promise.all([1, 2, 3, 4].map(() => migrate(clickhouse, options)));
    const made = await names();
    expect(made).toHaveLength(10 + 8 + 1 + 4);
    await migrate(clickhouse, options);
    expect(await names()).toEqual(made);
    const query = "SELECT DISTINCT version FROM latchkey_internal.migrations ORDER BY version FORMAT TabSeparated";
    expect((await clickhouse.query(query, { maxBytes: 1_000 })).trim().split("\n")).toEqual(["1", "2"]);
  });

  test.each([
    ["2026-02-27T12:00:00Z", "2026-01-27T12:00:00Z"],
    ["2026-02-28T12:00:00Z", "2026-01-31T12:00:00Z"],
    ["2028-02-28T12:00:00Z", "2028-01-28T12:00:00Z"],
    ["2028-02-29T12:00:00Z", "2028-01-31T12:00:00Z"],
    ["2026-04-29T12:00:00Z", "2026-03-29T12:00:00Z"],
    ["2026-04-30T12:00:00Z", "2026-03-31T12:00:00Z"],
    ["2026-03-28T12:00:00Z", "2026-02-28T12:00:00Z"],
    ["2026-03-29T12:00:00Z", "2026-03-01T00:00:00Z"],
    ["2026-03-31T12:00:00Z", "2026-03-01T00:00:00Z"],
    ["2028-03-31T12:00:00Z", "2028-03-01T00:00:00Z"],
    ["2026-01-31T12:00:00Z", "2025-12-31T12:00:00Z"],
  ])("[analytics §5] at %s the events of a month are kept since %s, as the engine counts", async (now, since) => {
    const [time, step] = [Date.parse(now), 15 * 60_000];
    const expires = "toDateTime(fromUnixTimestamp64Milli(time, 'UTC')) + INTERVAL 1 MONTH";
    const query =
      `SELECT max(time) FROM (SELECT toInt64(${time}) - number * ${step} AS time FROM numbers(7000)) ` +
      `WHERE ${expires} < fromUnixTimestamp64Milli(${time}, 'UTC') FORMAT TabSeparated`;
    const lastGone = Number(await clickhouse.query(query, { maxBytes: 1_000 }));
    const kept = keptSince(ratelimits, "raw", time);
    expect([kept, kept]).toEqual([Date.parse(since), lastGone + step]);
  });

  test("of a newer version are left alone", async () => {
    await clickhouse.command("INSERT INTO latchkey_internal.migrations (version) VALUES (99)");
    await expect(migrate(clickhouse, options)).rejects.toThrow(/version 99/);
  });
});

test("[analytics §§4, 5] every table forgets at its time", () => {
  const retention = statementsOf({}).flatMap((statement) => {
    const [, table, age] = /^CREATE TABLE IF NOT EXISTS latchkey\.(\w+) .* TTL .* \+ INTERVAL (\d+ \w+) DELETE/.exec(statement) ?? [];
    return table === undefined ? [] : [[table, age]];
  });
  expect(Object.fromEntries(retention)).toEqual({
    key_verifications_v1: "90 DAY",
    key_verifications_per_minute_v1: "90 DAY",
    key_verifications_per_hour_v1: "90 DAY",
    key_verifications_per_day_v1: "365 DAY",
    key_verifications_per_month_v1: "3 YEAR",
    ratelimits_v1: "1 MONTH",
    ratelimits_per_minute_v1: "7 DAY",
    ratelimits_per_hour_v1: "30 DAY",
    ratelimits_per_day_v1: "100 DAY",
    ratelimits_per_month_v1: "3 YEAR",
  });
  const kept = statementsOf({ expire: false }).filter((statement) => / TTL (?!inserted_at)/.test(statement));
  expect(kept).toEqual([]);
});

test("on a cluster every table is replicated and everything is made on all of it", () => {
  const statements = statementsOf({ cluster: "main" });
  expect(statements.filter((statement) => !statement.includes(" ON CLUSTER `main`"))).toEqual([]);
  const tables = statements.filter((statement) => statement.startsWith("CREATE TABLE"));
  expect(tables).toHaveLength(12);
  expect(tables.filter((statement) => !/ENGINE = Replicated(Summing)?MergeTree/.test(statement))).toEqual([]);
  expect(tables.filter((statement) => !statement.includes("replicated_deduplication_window"))).toEqual([]);
});
