// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClickHouse, openClickHouse } from "../../src/features/analytics/clickhouse.ts";
import { sandbox } from "../../src/features/analytics/querySettings.ts";
import { prepareQuery } from "../../src/features/analytics/sql/prepareQuery.ts";
import type { TableReference } from "../../src/features/analytics/sql/tableReferences.ts";
import { migrate } from "../../src/features/analytics/tables/migrateTables.ts";
import { verifications } from "../../src/features/analytics/tables/schema.ts";
import { visibleRows } from "../../src/features/analytics/visibleRows.ts";
import { type Place, server } from "./places.ts";

const now = Date.UTC(2026, 5, 15, 12);
const HOUR = 3_600_000;
const raw = "key_verifications_v1";

let place: Place;
let clickhouse: ClickHouse;
beforeAll(async () => {
  place = await server.open();
  clickhouse = openClickHouse({ url: place.options.clickhouseUrl ?? "", database: "latchkey_internal", timeoutMs: 60_000 });
  await migrate(clickhouse, { database: "latchkey", cluster: undefined, workspaceId: "ws_1", expire: false });
});
afterAll(async () => {
  await clickhouse.close();
  await place.close();
});

const prepare = (sql: string) =>
  prepareQuery({
    sql,
    dataset: verifications,
    now,
    retentionDays: 30,
    ask: (question) => clickhouse.query(question, { settings: sandbox, maxBytes: 1e6 }),
  });
const referencesOf = async (sql: string): Promise<TableReference[]> => {
  const references: TableReference[] = [];
  const { render } = await prepare(sql);
  render((reference) => {
    references.push(reference);
    return "";
  });
  return references;
};

describe("bounds that a WHERE states are known for its table", () => {
  const [since, until, a, b] = [now - 2 * HOUR, now - HOUR, "api_a", "api_b"];
  const bounds = { since: undefined, until: undefined, ids: undefined };
  test.each([
    ["time >= now() - INTERVAL 2 HOUR", { ...bounds, since }],
    [`time > ${since} AND time < ${until} AND key_id = 'x'`, { ...bounds, since, until }],
    [`(v.time BETWEEN ${since} AND ${until}) AND v.key_space_id = '${a}'`, { since, until, ids: [a] }],
    [`${since} <= time AND time >= ${since - 5}`, { ...bounds, since }],
    [`time = ${since}`, { ...bounds, since, until: since }],
    [`key_space_id IN ('${a}', '${b}') AND (key_space_id IN ('${b}', 'c'))`, { ...bounds, ids: [b] }],
    [`key_space_id = '${a}' AND key_space_id = '${b}'`, { ...bounds, ids: [] }],
    [`time >= ${since} GROUP BY key_id HAVING count() > 1 ORDER BY key_id`, { ...bounds, since }],
    // Not of every row that passes.
    [`time >= ${since} OR key_id = 'x'`, bounds],
    [`NOT (time < ${until})`, bounds],
    [`if(time >= ${since}, 1, 0)`, bounds],
    [`(time >= ${since}) = 0`, bounds],
    [`CASE WHEN (time >= ${since}) AND (key_id = '') THEN 0 ELSE 1 END`, bounds],
    [`time != ${since} AND key_space_id != '${a}' AND key_space_id NOT IN ('${b}')`, bounds],
    [`time + 5 >= ${since} AND ${since} - 5 <= time + 1`, bounds],
    [`key_space_id = key_id AND key_space_id IN (SELECT 'x' FROM ${raw})`, bounds],
    [`key_space_id = lower('A') AND key_space_id LIKE '${a}'`, bounds],
  ])("WHERE %s", async (where, expected) => {
    expect((await referencesOf(`SELECT key_id FROM ${raw} AS v WHERE ${where}`))[0]).toMatchObject({ table: raw, ...expected });
  });

  test.each([
    `SELECT 1 FROM ${raw} AS v JOIN ${raw} AS w USING (key_id) WHERE time >= ${since}`,
    `SELECT 1 FROM ${raw} AS v LEFT JOIN ${raw} AS w USING (key_id) WHERE w.time <= ${until}`,
    `SELECT 1 FROM ${raw} AS v, ${raw} AS w WHERE v.time >= ${since}`,
    `SELECT 5 AS time FROM ${raw} WHERE time >= ${since}`,
    `SELECT 'x' AS key_space_id FROM ${raw} WHERE key_space_id = 'x'`,
    `WITH 'x' AS key_space_id SELECT 1 FROM ${raw} WHERE key_space_id = 'x'`,
    `SELECT t FROM ${raw} ARRAY JOIN tags AS t WHERE time >= ${since}`,
    `SELECT 1 FROM (SELECT * FROM ${raw} LIMIT 5) WHERE time >= ${since}`,
    `SELECT 1 FROM ${raw} AS a WHERE EXISTS (SELECT 1 FROM ${raw} AS b WHERE a.time >= ${since})`,
    `SELECT 1 FROM ${raw} HAVING max(time) >= ${since}`,
  ])("none in %s", async (sql) => {
    for (const reference of await referencesOf(sql)) expect(reference).toMatchObject(bounds);
  });

  test("each SELECT has those of its own", async () => {
    const sql = `SELECT 1 FROM ${raw} WHERE time >= ${since} UNION ALL SELECT 1 FROM key_verifications_per_hour_v1 WHERE time <= ${until}`;
    expect(await referencesOf(sql)).toMatchObject([
      { table: raw, since, until: undefined },
      { table: "key_verifications_per_hour_v1", since: undefined, until },
    ]);
  });
});

describe("rows that may be seen", () => {
  const visibility = { database: "latchkey", scopeColumn: "key_space_id", scope: ["it's", "b"], since: now, name: "own" };
  const reference = { table: raw, since: undefined, until: undefined, ids: undefined };

  test("are those of the scope and the retention, behind a barrier", () => {
    expect(visibleRows(reference, visibility)).toBe(
      `(SELECT * FROM latchkey.${raw} AS own PREWHERE own.key_space_id IN ['it\\'s', 'b'] AND own.time >= ${now} LIMIT 9223372036854775807)`,
    );
  });

  test("are no more for what a query states", () => {
    expect(visibleRows({ ...reference, since: 0, ids: ["b", "foreign"] }, visibility)).toContain(`IN ['b'] AND own.time >= ${now} LIMIT`);
    expect(visibleRows({ ...reference, ids: ["foreign"] }, visibility)).toContain("WHERE 0");
    expect(visibleRows(reference, { ...visibility, scope: [] })).toContain("WHERE 0");
  });

  test.each([
    ["minute", "'2026-06-15 12:00:00'", "'2026-06-15 13:30:00'"],
    ["hour", "'2026-06-15 12:00:00'", "'2026-06-15 13:00:00'"],
    ["day", "'2026-06-15'", "'2026-06-15'"],
    ["month", "'2026-06-01'", "'2026-06-01'"],
  ])("every range of tables per %s starts and ends with an interval", (step, first, last) => {
    const table = `key_verifications_per_${step}_v1`;
    const text = visibleRows({ table, since: undefined, until: now + 1.5 * HOUR, ids: undefined }, visibility);
    expect(text).toContain(`own.time >= ${first} AND own.time <= ${last} LIMIT`);
  });

  test("have no barrier for who may see all", () => {
    const text = visibleRows({ ...reference, ids: ["b"] }, { ...visibility, scope: undefined });
    expect(text).toBe(`(SELECT * FROM latchkey.${raw} AS own WHERE own.time >= ${now})`);
  });

  test.each([-1e15, -1, 0, 1.5, 9e15])("stay the same where a query compares with the time %d", async (time) => {
    for (const [table = "", bound] of verifications.tables.flatMap((each) => [
      [each, { since: time }] as const,
      [each, { until: time }] as const,
    ])) {
      const text = visibleRows({ table, since: undefined, until: undefined, ids: undefined, ...bound }, { ...visibility, since: 0 });
      expect(await clickhouse.query(`SELECT count() FROM ${text} FORMAT TabSeparated`, { maxBytes: 1_000 })).toBe("0\n");
    }
  });
});

test("no name in a query is one of those that select its rows", async () => {
  expect((await prepare(`SELECT 1 AS n FROM ${raw}`)).freshName).toBe("own");
  expect((await prepare(`SELECT 1 AS Own, 'own0 own1' AS n FROM ${raw} AS down`)).freshName).toBe("own2");
});
