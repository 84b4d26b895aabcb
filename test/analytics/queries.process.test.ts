import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { type Api, dataOf, expectError, startApi } from "../support/api.ts";
import { expectEnvelope, request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";
import { type Place, seed, ways } from "./places.ts";

const [engine] = engines;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const now = Date.now();
/** A time within the present minute, hour, day and month, whatever the time is. */
const recent = now - 1;

const verifications = [
  {
    time: recent,
    apiId: "api_a",
    keyId: "key_a1",
    outcome: "VALID",
    tags: ["x", "it's"],
    spentCredits: 2,
    latency: 1.5,
    externalId: "alice",
  },
  { time: recent, apiId: "api_a", keyId: "key_a1", outcome: "VALID", tags: [], spentCredits: 3, latency: 2.5, externalId: "alice" },
  { time: recent, apiId: "api_a", keyId: "key_a2", outcome: "RATE_LIMITED", latency: 3 },
  { time: recent, apiId: "api_b", keyId: "key_b1", outcome: "DISABLED" },
  { time: now - 2 * DAY, apiId: "api_a", keyId: "key_a3", outcome: "EXPIRED" },
  { time: now - 20 * DAY, apiId: "api_a", keyId: "key_a4", outcome: "VALID" },
  { time: now - 31 * DAY, apiId: "api_a", keyId: "key_old", outcome: "VALID" },
];
const ratelimits = [
  { time: recent, namespaceId: "rlns_a", identifier: "user 1", passed: true, tokens: 2 },
  { time: recent, namespaceId: "rlns_a", identifier: "user 1", passed: false, tokens: 5, overrideId: "rlor_1" },
  { time: recent, namespaceId: "rlns_b", identifier: "user 2", passed: true, tokens: 0 },
];

describe.each(ways)("on $name", (way) => {
  let place: Place;
  let api: Api;
  beforeAll(async () => {
    if (!engine) expect.unreachable();
    place = await way.open();
    await seed(place, { verifications, ratelimits });
    // Its time stands still: "a minute ago" means the same however long the tests take.
    api = await startApi(engine, { env: place.env, clock: createTestClock(now) });
  });
  afterAll(async () => {
    await api.close();
    await engine?.close();
    await place.close();
  });

  const ask = (query: unknown, rootKey = api.rootKey, procedure = "analytics.getVerifications"): Promise<Answer> =>
    request(api.url, procedure, { rootKey, body: { query } });
  const rows = async (query: string, rootKey?: string, procedure?: string): Promise<unknown> =>
    dataOf(await ask(query, rootKey, procedure));
  const refused = async (query: unknown, status: number, type: string): Promise<string> => {
    const answer = await ask(query);
    expectEnvelope(answer);
    return expectError(answer, status, type).detail;
  };
  const count = async (where: string, table = "key_verifications_v1"): Promise<unknown> => {
    const sum = table === "key_verifications_v1" ? "count(*)" : "sum(count)";
    return ((await rows(`SELECT ${sum} AS n FROM ${table} WHERE ${where}`)) as { n: unknown }[])[0]?.n;
  };

  describe("[analytics §1]", () => {
    test("rows are objects by the names or aliases of their columns", async () => {
      expect(await rows("SELECT key_id, outcome AS o, latency FROM key_verifications_v1 WHERE key_id = 'key_a2'")).toEqual([
        { key_id: "key_a2", o: "RATE_LIMITED", latency: 3 },
      ]);
    });

    test("no rows are [], an aggregate over none is one row", async () => {
      expect(await rows("SELECT key_id FROM key_verifications_v1 WHERE key_id = 'nobody'")).toEqual([]);
      expect(await rows("SELECT count(*) AS n FROM key_verifications_v1 WHERE key_id = 'nobody'")).toEqual([{ n: 0 }]);
    });

    test("64-bit counts are numbers, Bool is true or false, arrays are arrays, times RFC 3339, a Date its midnight", async () => {
      expect(
        await rows(
          `SELECT count(*) AS n, toInt64(5) AS i, 1.5 AS f, any(tags) AS tags, true AS yes,
             fromUnixTimestamp64Milli(${recent}) AS t64, toDateTime('2026-01-02 03:04:05') AS t, toDate('2026-01-02') AS d,
             [toDate('2026-01-02')] AS ds FROM key_verifications_v1 WHERE spent_credits = 2`,
        ),
      ).toEqual([
        {
          ...{ n: 1, i: 5, f: 1.5, tags: ["x", "it's"], yes: true, t64: new Date(recent).toISOString(), t: "2026-01-02T03:04:05Z" },
          ...{ d: "2026-01-02T00:00:00Z", ds: ["2026-01-02T00:00:00Z"] },
        },
      ]);
      const passed = "SELECT passed FROM ratelimits_v1 WHERE override_id = 'rlor_1'";
      expect(await rows(passed, undefined, "analytics.getRatelimits")).toEqual([{ passed: false }]);
    });

    test("NaN and infinities are null, also in arrays", async () => {
      expect(
        await rows(
          `SELECT avg(latency) AS a, quantile(0.5)(latency) AS q, [avg(latency), 1] AS l, 1 / count() AS d, -1 / count() AS e
             FROM key_verifications_v1 WHERE key_id = 'nobody'`,
        ),
      ).toEqual([{ a: null, q: null, l: [null, 1], d: null, e: null }]);
    });

    test("query is required text; other fields are ignored", async () => {
      for (const query of [null, 5, undefined, ["SELECT 1"]]) await refused(query, 400, "unkey/application/invalid_input");
      const body = { query: "SELECT 1 AS one FROM key_verifications_v1 LIMIT 1", other: true };
      expect(dataOf(await request(api.url, "analytics.getVerifications", { rootKey: api.rootKey, body }))).toEqual([{ one: 1 }]);
    });

    test("a root key for one API sees its rows, for several theirs, for all every row", async () => {
      const ids = "SELECT DISTINCT key_space_id AS id FROM key_verifications_v1 ORDER BY id";
      const forA = await api.createRootKey({ permissions: ["api.api_a.read_analytics"] });
      const forBoth = await api.createRootKey({ permissions: ["api.api_a.read_analytics", "api.api_b.read_analytics"] });
      const forAll = await api.createRootKey({ permissions: ["api.*.read_analytics", "api.api_a.read_analytics"] });
      expect(await rows(ids, forA)).toEqual([{ id: "api_a" }]);
      expect(await rows(ids, forBoth)).toEqual([{ id: "api_a" }, { id: "api_b" }]);
      expect(await rows(ids, forAll)).toEqual([{ id: "api_a" }, { id: "api_b" }]);
    });

    test("a root key for a thousand APIs sees their rows", async () => {
      const ids = ["api_a", ...Array.from({ length: 999 }, (_, i) => `api_${String(i).padStart(20, "0")}`)];
      const forMany = await api.createRootKey({ permissions: ids.map((id) => `api.${id}.read_analytics`) });
      expect(await rows("SELECT DISTINCT key_space_id AS id FROM key_verifications_v1", forMany)).toEqual([{ id: "api_a" }]);
      const twenty = Array.from({ length: 20 }, () => "SELECT 1 AS n FROM key_verifications_v1").join(" UNION ALL ");
      expect(await rows(`SELECT count() AS n FROM (${twenty})`, forMany)).toEqual([{ n: 20 * 5 }]);
      const tooMany = Array.from({ length: 400 }, (_, i) => `key_verifications_v1 AS a${i}`).join(", ");
      const answer = await ask(`SELECT 1 AS n FROM ${tooMany}`, forMany);
      expect(expectError(answer, 400, "user/bad_request/invalid_analytics_query").detail).toContain("too often");
    });

    test("scope is a filter: what lies outside is not there, and an unknown id sees nothing", async () => {
      const forA = await api.createRootKey({ permissions: ["api.api_a.read_analytics"] });
      const forNobody = await api.createRootKey({ permissions: ["api.api_unknown.read_analytics"] });
      expect(await rows("SELECT key_id FROM key_verifications_v1 WHERE key_space_id = 'api_b'", forA)).toEqual([]);
      expect(await rows("SELECT key_id FROM key_verifications_v1 WHERE key_space_id = 'api_unknown'", forA)).toEqual([]);
      expect(await rows("SELECT key_id FROM key_verifications_v1", forNobody)).toEqual([]);
    });

    test("namespaces scope the rows of getRatelimits, and neither permission serves the other procedure", async () => {
      const forA = await api.createRootKey({ permissions: ["ratelimit.rlns_a.read_analytics"] });
      const sum = "SELECT sum(total) AS n FROM ratelimits_per_day_v1";
      expect(await rows(sum, forA, "analytics.getRatelimits")).toEqual([{ n: 2 }]);
      expect(await rows(sum, undefined, "analytics.getRatelimits")).toEqual([{ n: 3 }]);
      const denied = expectError(await ask("not even SQL", forA), 403, "unkey/authorization/insufficient_permissions");
      expect(denied.detail).toContain("api.*.read_analytics");
      const forApis = await api.createRootKey({ permissions: ["api.*.read_analytics"] });
      const other = await ask("SELECT 1", forApis, "analytics.getRatelimits");
      expect(expectError(other, 403, "insufficient_permissions").detail).toContain("ratelimit.*.read_analytics");
    });
  });

  describe("[analytics §2]", () => {
    test.each([
      ["", "empty"],
      [" \n\t", "empty"],
      ["SELEC 1", "yntax"],
      ["SELECT 1 FROM key_verifications_v1; SELECT 2 FROM key_verifications_v1", "ulti"],
      ["SELECT 1", "FROM"],
      ["SELECT 1 FROM key_verifications_v1 SETTINGS max_threads = 1", "SETTINGS"],
      ["SELECT 1 FROM key_verifications_v1 WHERE key_id IN key_verifications_v1", "IN"],
      [`SELECT '${"x".repeat(16_400)}' FROM key_verifications_v1`, "16384"],
      [`SELECT '${"ü".repeat(8_200)}' FROM key_verifications_v1`, "16384"],
      ["SELECT nothing FROM key_verifications_v1", "nknown column nothing"],
      ["SELECT Outcome FROM key_verifications_v1", "nknown column Outcome"],
      ["SELECT current_user AS z FROM key_verifications_v1", "nknown column current_user"],
      ["SELECT _part AS _part FROM key_verifications_v1", "nknown column _part"],
      ["SELECT tags.size0 FROM key_verifications_v1", "nknown column tags.size0"],
      ["SELECT 1 FROM key_verifications_v1 WHERE (time, key_id) > (now(), 'a')", "time"],
      ["SELECT key_id + 1 FROM key_verifications_v1", "type"],
      ["SELECT key_id, count(*) AS n FROM key_verifications_v1 GROUP BY outcome", "GROUP BY"],
      ["SELECT sum(key_id) AS n FROM key_verifications_v1", "type"],
    ])("%s is an invalid query", async (query, said) => {
      const detail = await refused(query, 400, "user/bad_request/invalid_analytics_query");
      expect(detail).toContain(said);
      expect(detail).not.toMatch(/latchkey\.|additional_table_filters|key_space_id IN|toStartOf|__table/);
    });

    test("a query of exactly 16384 bytes runs", async () => {
      const query = "SELECT 1 AS one FROM key_verifications_v1 LIMIT 1 -- ";
      expect(await rows(query + "x".repeat(16_384 - query.length))).toEqual([{ one: 1 }]);
    });

    test.each(["INSERT INTO key_verifications_v1 VALUES (1)", "DROP TABLE key_verifications_v1", "SHOW TABLES", "EXPLAIN SELECT 1"])(
      "%s is no SELECT",
      async (query) => {
        expect(await refused(query, 400, "user/bad_request/invalid_analytics_query_type")).toContain("SELECT");
      },
    );

    test("a table that is not one of the five is named", async () => {
      for (const table of ["system.tables", "ratelimits_v1", "key_verifications", "latchkey.key_verifications_v1"]) {
        expect(await refused(`SELECT 1 FROM ${table}`, 400, "user/bad_request/invalid_analytics_table")).toContain(table);
      }
    });

    test("a function that is not allowed is named", async () => {
      for (const call of ["sleep(1)", "toUnixTimestamp(now())", "currentUser()", "tuple(1)", "multiIf(1, 2, 3)"]) {
        const detail = await refused(`SELECT ${call} FROM key_verifications_v1`, 400, "user/bad_request/invalid_analytics_function");
        expect(detail).toContain(call.split("(", 1)[0]);
      }
      expect(await refused("SELECT * FROM numbers(9)", 400, "invalid_analytics_function")).toContain("numbers");
    });

    test("errors of the SQL have an empty list of errors", async () => {
      expect((await ask("SELECT 1")).body.error?.errors).toEqual([]);
    });

    test.each([
      "SELECT toInt64(key_id) AS n FROM key_verifications_v1",
      "SELECT toDate(max(key_id)) AS n FROM key_verifications_v1",
      "SELECT toDateTime(1, (SELECT max(key_id) FROM key_verifications_v1)) AS n FROM key_verifications_v1",
      "SELECT concat(outcome, (SELECT max(key_id) FROM key_verifications_v1)) AS n FROM key_verifications_v1 GROUP BY key_space_id",
      "SELECT count() AS n FROM key_verifications_v1 LIMIT (SELECT max(key_id) FROM key_verifications_v1)",
      "SELECT 1 DIV length('') + length(key_id) AS n FROM key_verifications_v1",
    ])("no message repeats a stored value, for any caller: %s", async (query) => {
      expect(await refused(query, 400, "user/bad_request/invalid_analytics_query")).not.toMatch(/key_[ab]|VALID|api_|own\b/);
    });

    test("a response beyond 4 MiB is refused", async () => {
      const sql = "SELECT arrayJoin([1,2,3,4,5,6,7,8]) AS number";
      const crossed = Array.from({ length: 5 }, (_, i) => `(${sql} FROM key_verifications_v1) AS t${i}`).join(", ");
      await refused(`SELECT t0.number AS a FROM ${crossed}`, 422, "user/unprocessable_entity/query_memory_limit_exceeded");
    });
  });

  describe("[analytics §3]", () => {
    test.each([
      [
        "SELECT count(*) AS n FROM key_verifications_v1 AS v WHERE (v.outcome = 'VALID' AND NOT v.latency < 2) OR v.key_id IN ('key_a2', 'none')",
        2,
      ],
      ["SELECT count() AS n FROM key_verifications_v1 WHERE outcome NOT IN ('VALID') AND latency BETWEEN 2 AND 4", 1],
      ["SELECT count(DISTINCT key_id) AS n FROM key_verifications_v1 WHERE key_id LIKE 'key_a%'", 4],
      ["SELECT count(*) AS n FROM key_verifications_v1 WHERE outcome <> 'VALID' AND outcome != 'EXPIRED'", 2],
      ["SELECT COUNT(*) AS n FROM key_verifications_v1 WHERE external_id = 'alice' HAVING n > 1", 2],
      ["SELECT sum(CASE WHEN outcome = 'VALID' THEN 1 ELSE 0 END) AS n FROM key_verifications_v1 WHERE key_space_id = 'api_a'", 3],
      ["SELECT count(*) AS n FROM key_verifications_v1 WHERE has(tags, 'it\\'s') AND hasAny(tags, ['it''s'])", 1],
      ["SELECT count(*) AS n FROM (SELECT key_id FROM key_verifications_v1 GROUP BY key_id)", 5],
      ["WITH a AS (SELECT key_id FROM key_verifications_v1 WHERE outcome = 'VALID') SELECT count(*) AS n FROM a", 3],
      [
        "SELECT n FROM (SELECT 1 AS n FROM key_verifications_v1 UNION ALL SELECT 2 AS n FROM key_verifications_v1) ORDER BY n DESC LIMIT 1",
        2,
      ],
      ["SELECT toUint8(1) AS n FROM key_verifications_v1", undefined],
      ["select SUM(spent_credits) as n from key_verifications_v1;", 5],
      ["SELECT LENGTH(GROUPARRAY(key_id)) AS n FROM key_verifications_v1 WHERE key_id = 'key_a1'", 2],
      ["SELECT toFloat64(quantile(0.95)(latency)) > 1 AS n FROM key_verifications_v1", 1],
    ])("%s", async (query, n) => {
      if (n === undefined) await refused(query, 400, "invalid_analytics_function");
      else expect(await rows(query)).toEqual([{ n }]);
    });

    test("GROUP BY, ORDER BY, LIMIT and OFFSET order and cut", async () => {
      const query = "SELECT outcome AS o, count(*) AS n FROM key_verifications_v1 GROUP BY o ORDER BY n DESC, o ASC LIMIT 2 OFFSET 1";
      expect(await rows(query)).toEqual([
        { o: "DISABLED", n: 1 },
        { o: "EXPIRED", n: 1 },
      ]);
    });

    test("function names may be written in any case, column names not", async () => {
      const query = "SELECT TOSTARTOFDAY(FROMUNIXTIMESTAMP64MILLI(time)) AS d FROM key_verifications_v1 ORDER BY time DESC LIMIT 1";
      expect(await rows(query)).toEqual([{ d: `${new Date(recent).toISOString().slice(0, 10)}T00:00:00Z` }]);
    });

    test("columns may be quoted with backticks or double quotes", async () => {
      const query = 'SELECT `limit` AS a, "limit" AS b FROM ratelimits_v1 LIMIT 1';
      expect(await rows(query, undefined, "analytics.getRatelimits")).toEqual([{ a: 10, b: 10 }]);
    });

    test("`time` of the raw table and an instant are compared as instants", async () => {
      for (const [bound, n] of [
        ["now() - INTERVAL 1 HOUR", 4],
        ["now() - INTERVAL 7 DAY", 5],
        ["now() - INTERVAL 3 WEEK", 6],
        ["now() - toIntervalDay(7)", 5],
        ["now64() - INTERVAL 1 MINUTE", 4],
        ["toStartOfHour(now() - INTERVAL 3 DAY)", 5],
        ["today() - INTERVAL 3 DAY", 5],
        [`'${new Date(now - 7 * DAY).toISOString().slice(0, 19).replace("T", " ")}'`, 5],
        [`'${new Date(now - 7 * DAY).toISOString()}'`, 5],
        [`'${new Date(now - 7 * DAY).toISOString().slice(0, 10)}'`, 5],
        [`toDateTime(${Math.floor((now - 7 * DAY) / 1000)})`, 5],
        [`fromUnixTimestamp64Milli(${now - 7 * DAY})`, 5],
        [`${now - 7 * DAY}`, 5],
      ] as const) {
        expect([bound, await count(`time >= ${bound}`), await count(`${bound} < time`)]).toEqual([bound, n, n]);
        expect([bound, await count(`time < ${bound}`)]).toEqual([bound, 6 - n]);
      }
      for (const bounds of ["(time) >= (now() - INTERVAL 7 DAY)", "now() - INTERVAL 7 DAY < ((key_verifications_v1.time))"]) {
        expect([bounds, await count(bounds)]).toEqual([bounds, 5]);
      }
      expect(await count("time BETWEEN now() - INTERVAL 25 DAY AND now() - INTERVAL 1 DAY")).toBe(2);
    });

    test("ARRAY JOIN takes expressions, not tables: a `time` made by a subquery is unchanged", async () => {
      const made = "SELECT toDateTime(now()) AS time, ['a', 'b'] AS parts FROM key_verifications_v1 WHERE key_id = 'key_a1'";
      for (const bound of ["now() - INTERVAL 1 DAY", `'${new Date(now - DAY).toISOString().slice(0, 19).replace("T", " ")}'`]) {
        const query = `SELECT count() AS n FROM (${made}) AS s ARRAY JOIN parts WHERE time > ${bound}`;
        expect([bound, await rows(query)]).toEqual([bound, [{ n: 4 }]]);
      }
    });

    test("the same holds in subqueries, joins and aliases", async () => {
      const since = "now() - INTERVAL 1 HOUR";
      const last = (query: string) => rows(query).then((all) => (all as { n: unknown }[])[0]?.n);
      expect(await last(`SELECT count(*) AS n FROM (SELECT * FROM key_verifications_v1 WHERE time >= ${since})`)).toBe(4);
      expect(await last(`SELECT count(*) AS n FROM (SELECT time FROM key_verifications_v1) WHERE time >= ${since}`)).toBe(4);
      expect(await last(`WITH a AS (SELECT * FROM key_verifications_v1) SELECT count(*) AS n FROM a WHERE a.time >= ${since}`)).toBe(4);
      expect(await last(`SELECT countIf(v.time >= ${since}) AS n FROM key_verifications_v1 AS v`)).toBe(4);
      const hour = "toStartOfHour(fromUnixTimestamp64Milli(time))";
      expect(
        await last(`SELECT count(*) AS n FROM (SELECT ${hour} AS time FROM key_verifications_v1) WHERE time >= ${since} - INTERVAL 1 HOUR`),
      ).toBe(4);
      expect(await last(`SELECT ${hour} AS hour, count(*) AS n FROM key_verifications_v1 WHERE time >= ${since} GROUP BY hour`)).toBe(4);
    });

    test("`time` of the aggregates is a date or a time, and compares with both", async () => {
      for (const step of ["minute", "hour", "day", "month"]) {
        const table = `key_verifications_per_${step}_v1`;
        expect([step, await count("time < now() + INTERVAL 1 DAY", table)]).toEqual([step, step === "month" ? expect.any(Number) : 6]);
        expect([step, await count(`time < ${now + 5 * DAY}`, table)]).toEqual([step, step === "month" ? expect.any(Number) : 6]);
        const lastDay = await count("time >= now() - INTERVAL 1 DAY", table);
        expect([step, lastDay]).toEqual([step, step === "month" ? expect.any(Number) : 4]);
      }
      expect(await count(`time >= '${new Date(now - 7 * DAY).toISOString().slice(0, 10)}'`, "key_verifications_per_day_v1")).toBe(5);
    });

    test("without a lower bound only what the retention covers is visible", async () => {
      expect(await count("1")).toBe(6);
      expect(await count("key_id = 'key_old'")).toBe(0);
      expect(await count(`time < ${now - 25 * DAY}`)).toBe(0);
      expect(await count("key_id = 'key_old'", "key_verifications_per_hour_v1")).toBe(0);
    });

    test.each([
      "time >= now() - INTERVAL 31 DAY",
      "time > now() - INTERVAL 1 YEAR",
      "now() - INTERVAL 2 MONTH <= time",
      "time BETWEEN now() - INTERVAL 40 DAY AND now()",
      `time >= ${now - 31 * DAY}`,
      `time = ${now - 31 * DAY}`,
      "time > 0",
      "(v.time) >= 0",
      "time >= '2020-01-01'",
      "time >= '2020-01-01 00:00:00'",
      "time >= toDateTime('2020-01-01 00:00:00')",
      "time >= toStartOfYear(now() - INTERVAL 1 YEAR)",
      "time >= today() - INTERVAL 40 DAY",
      "(key_id = 'x' AND (time >= now() - INTERVAL 31 DAY))",
    ])("%s reaches back too far", async (bound) => {
      const refusal = (table: string) =>
        refused(`SELECT count(*) AS n FROM ${table} AS v WHERE ${bound}`, 400, "user/bad_request/query_range_exceeds_retention");
      const detail = await refusal("key_verifications_v1");
      expect(detail).toContain("30 days");
      expect(detail).toContain(new Date(now - 30 * DAY).toISOString().slice(0, 10));
      await refusal("key_verifications_per_hour_v1");
      await refusal("key_verifications_per_day_v1");
    });

    test("exactly the retention is accepted, upper bounds are free, what cannot be evaluated passes", async () => {
      expect(await count("time >= now() - INTERVAL 30 DAY")).toBe(6);
      expect(await count(`time >= ${Date.now() - 30 * DAY}`)).toBe(6);
      expect(await count("time <= '2020-01-01'")).toBe(0);
      expect(await count("time < now() - INTERVAL 1 YEAR")).toBe(0);
      expect(await count("time >= toInt64(latency) - 5")).toBe(6);
    });
  });

  test("[analytics §§4, 5] every table has its columns, and no other", async () => {
    const columns = async (table: string, procedure: string): Promise<string[]> =>
      Object.keys(((await rows(`SELECT * FROM ${table} LIMIT 1`, undefined, procedure)) as object[])[0] ?? {}).sort();
    const raw = [
      "request_id",
      "time",
      "workspace_id",
      "key_space_id",
      "identity_id",
      "external_id",
      "key_id",
      "region",
      "source",
      "app_id",
    ];
    expect(await columns("key_verifications_v1", "analytics.getVerifications")).toEqual(
      [...raw, "outcome", "tags", "spent_credits", "latency"].sort(),
    );
    const limits = ["request_id", "time", "workspace_id", "namespace_id", "identifier", "passed", "latency", "override_id"];
    expect(await columns("ratelimits_v1", "analytics.getRatelimits")).toEqual(
      [...limits, "limit", "remaining", "reset_at", "tokens"].sort(),
    );
    for (const step of ["minute", "hour", "day", "month"]) {
      expect(await columns(`key_verifications_per_${step}_v1`, "analytics.getVerifications")).toEqual(
        [...raw.filter((name) => name !== "request_id" && name !== "region"), "outcome", "tags", "count", "spent_credits"].sort(),
      );
      expect(await columns(`ratelimits_per_${step}_v1`, "analytics.getRatelimits")).toEqual(
        ["time", "workspace_id", "namespace_id", "identifier", "passed", "total", "total_tokens", "passed_tokens"].sort(),
      );
    }
  });

  test("[analytics §5] the aggregates of limits sum up passes, checks and tokens", async () => {
    for (const step of ["minute", "hour", "day", "month"]) {
      const query = `SELECT sum(passed) AS p, sum(total) AS t, sum(total_tokens) AS tt, sum(passed_tokens) AS pt FROM ratelimits_per_${step}_v1 WHERE namespace_id = 'rlns_a'`;
      expect(await rows(query, undefined, "analytics.getRatelimits")).toEqual([{ p: 1, t: 2, tt: 7, pt: 2 }]);
    }
  });
});
