// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClickHouse, openClickHouse } from "../../src/features/analytics/clickhouse.ts";
import { EngineError, EngineUnavailableError } from "../../src/features/analytics/engineErrors.ts";
import { createExecution } from "../../src/features/analytics/execution.ts";
import { createIsolationProof } from "../../src/features/analytics/isolationProof.ts";
import { createQueries } from "../../src/features/analytics/queries.ts";
import { verifications } from "../../src/features/analytics/tables/schema.ts";
import { BARRIER } from "../../src/features/analytics/visibleRows.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { embedded, observer, openAnalytics, type Place, server } from "./places.ts";

const none = (): never => expect.unreachable();

describe.each([embedded, server])("the isolation proof on $name", (way) => {
  let place: Place;
  beforeAll(async () => {
    place = await way.open();
  });
  afterAll(() => place.close());

  test("lets scoped queries run, and reports no leak", async () => {
    const leaks: unknown[] = [];
    const analytics = openAnalytics(place, { observer: { ...observer, isolationLeaks: (...leak) => leaks.push(leak) } });
    const query = { sql: "SELECT count() AS n FROM key_verifications_v1", dataset: verifications, scope: ["api_a"], now: Date.now() };
    expect(await analytics.query({ ...query, signal: AbortSignal.timeout(60_000) })).toEqual([{ n: 0 }]);
    expect(leaks).toEqual([]);
    await analytics.stop();
  });
});

describe("the isolation proof", () => {
  let place: Place;
  let clickhouse: ClickHouse;
  beforeAll(async () => {
    place = await server.open();
    clickhouse = openClickHouse({ url: place.options.clickhouseUrl ?? "", database: "default", timeoutMs: 60_000 });
    await clickhouse.command("CREATE DATABASE latchkey_internal");
  });
  afterAll(async () => {
    await clickhouse.close();
    await place.close();
  });

  /** The same engine, as it would be if it moved expressions of a query through the barrier, or evaluated them first. */
  const leaky = (version = "1"): ClickHouse => ({
    ...clickhouse,
    version: async () => version,
    query: (sql, options) => clickhouse.query(sql.replaceAll(BARRIER, "").replaceAll("PREWHERE", "WHERE"), options),
  });
  const proofOf = (engine: ClickHouse, onLeak: (version: string, queries: readonly string[]) => void = none) =>
    createIsolationProof({ clickhouse: engine, database: "latchkey", cluster: undefined, onLeak });

  test("finds that an engine evaluates expressions on rows of others", async () => {
    const leaks: unknown[] = [];
    const isIsolated = proofOf(leaky(), (version, queries) => leaks.push([version, queries.length > 0]));
    expect(await isIsolated()).toBe(false);
    expect(await isIsolated()).toBe(false);
    expect(leaks).toEqual([["1", true]]);
  });

  test("finds that an engine shows rows of others", async () => {
    const query: ClickHouse["query"] = (sql, options) => clickhouse.query(sql.replaceAll("IN ['own']", "!= 'alice'"), options);
    expect(await proofOf({ ...clickhouse, query }, () => undefined)()).toBe(false);
  });

  test("is made once for a version, also by many queries at once, and again when another one answers", async () => {
    let asked = 0;
    let version = "1";
    const counting: ClickHouse = {
      ...clickhouse,
      version: async () => version,
      query: (sql, options) => {
        asked++;
        return clickhouse.query(sql, options);
      },
    };
    const isIsolated = proofOf(counting);
    expect(await Promise.all(Array.from({ length: 5 }, isIsolated))).toEqual([true, true, true, true, true]);
    const once = asked;
    expect(await isIsolated()).toBe(true);
    expect(asked).toBe(once);
    version = "2";
    expect(await isIsolated()).toBe(true);
    expect(asked).toBeGreaterThan(once + 10);
  });

  test("that cannot be made fails, and is made when the engine answers again", async () => {
    let failure: Error | undefined = new EngineUnavailableError("away");
    const flaky: ClickHouse = {
      ...clickhouse,
      query: (sql, options) => (failure ? Promise.reject(failure) : clickhouse.query(sql, options)),
    };
    const isIsolated = proofOf(flaky);
    await expect(isIsolated()).rejects.toThrow(EngineUnavailableError);
    // Over a limit, which says nothing of the rows.
    failure = new EngineError(241, "memory limit exceeded");
    await expect(isIsolated()).rejects.toThrow("memory limit");
    failure = undefined;
    expect(await isIsolated()).toBe(true);
  });

  test("holds with rows that are there twice, as after a start of several nodes at once", async () => {
    await Promise.all([1, 2, 3].map(() => proofOf(clickhouse)()));
    await clickhouse.command("INSERT INTO latchkey_internal.isolation_probe SELECT * FROM latchkey_internal.isolation_probe");
    expect(await proofOf(clickhouse)()).toBe(true);
  });

  test("refuses scoped queries with 412 when it fails, before the SQL is looked at, and no others", async () => {
    const limits = { querySeconds: 5, rowsRead: 1000, memory: 1e9 };
    const watched: ClickHouse = { ...clickhouse, query: async (sql) => (sql.includes("formatQuery") ? none() : "") };
    const query = createQueries({
      clock: systemClock,
      clickhouse: watched,
      database: "latchkey",
      ready: async () => undefined,
      quota: { admit: async () => undefined, spend: async () => undefined },
      isIsolated: async () => false,
      retentionDays: 30,
      limits,
      execution: createExecution(watched, limits),
    });
    const common = { sql: "no SQL", dataset: verifications, now: Date.now(), signal: AbortSignal.timeout(60_000) };
    await expect(query({ ...common, scope: ["api_a"] })).rejects.toMatchObject({ reason: "analytics_not_configured" });
    await expect(query({ ...common, scope: undefined })).rejects.not.toMatchObject({ reason: "analytics_not_configured" });
  });
});
