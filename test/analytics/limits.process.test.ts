// @same-on-every-engine
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, dataOf, expectError, startApi, type TestEnvironment } from "../support/api.ts";
import { expectEnvelope, type HttpAnswer, request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";
import { embedded, observer, openAnalytics, type Place, seed } from "./places.ts";

const rows = Array.from({ length: 300 }, (_, i) => ({ keyId: `key_${i}` }));

const ask = (api: Api, query: unknown, rootKey: string | undefined = api.rootKey): Promise<HttpAnswer> =>
  request(api.url, "analytics.getVerifications", { rootKey, body: { query } });

describe.each(engines)("with the state in $name", (engine) => {
  const withApi = async <T>(env: TestEnvironment, use: (api: Api) => Promise<T>): Promise<T> => {
    const api = await startApi(engine, { env });
    try {
      return await use(api);
    } finally {
      await api.close();
    }
  };
  afterAll(() => engine.close());

  test("[analytics §2] without a store it is 412, after 401, the body and 403, before the SQL is looked at", async () => {
    await withApi({ ANALYTICS: "off" }, async (api) => {
      const powerless = await api.createRootKey({ permissions: ["ratelimit.*.read_analytics"] });
      expectError(await ask(api, 5, "lkr_unknown"), 401, "unkey/authentication/key_not_found");
      expectError(await ask(api, 5, powerless), 400, "unkey/application/invalid_input");
      expectError(await ask(api, "no SQL", powerless), 403, "unkey/authorization/insufficient_permissions");
      const answer = await ask(api, "no SQL");
      expectEnvelope(answer);
      expectError(answer, 412, "unkey/data/analytics_not_configured");
    });
  });

  test("[analytics §§2, 6] while the store is down it is 503, and no other call is affected", async () => {
    const listener = createServer().listen(0, "127.0.0.1");
    await new Promise((done) => listener.once("listening", done));
    const address = listener.address();
    const port = typeof address === "object" ? address?.port : 0;
    await new Promise((done) => listener.close(done));
    await withApi({ ANALYTICS: undefined, CLICKHOUSE_URL: `http://127.0.0.1:${port}` }, async (api) => {
      const answer = await ask(api, "SELECT 1 AS n FROM key_verifications_v1");
      expectEnvelope(answer);
      expectError(answer, 503, "unkey/data/analytics_connection_failed");
      expect(answer.text).not.toContain(String(port));
      const call = async (procedure: string, body: object) => dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body }));
      const { apiId } = await call("apis.createApi", { name: "away" });
      const { key } = await call("keys.createKey", { apiId });
      for (let i = 0; i < 20; i++) expect(await call("keys.verifyKey", { key })).toMatchObject({ code: "VALID" });
      const metrics = async (): Promise<string> => (await fetch(`${api.adminUrl}/metrics`)).text();
      await expect.poll(metrics).toMatch(/^latchkey_analytics_up 0$/m);
      await expect.poll(metrics).toMatch(/^latchkey_analytics_buffered_events 20$/m);
    });
  });
});

describe("on the embedded engine", () => {
  const [engine] = engines;
  let place: Place;
  beforeAll(async () => {
    place = await embedded.open();
    await seed(place, { verifications: rows });
  });
  afterAll(async () => {
    await engine?.close();
    await place.close();
  });
  const withLimits = async (env: TestEnvironment, use: (api: Api) => Promise<void>): Promise<void> => {
    if (!engine) expect.unreachable();
    const api = await startApi(engine, { env: { ...place.env, ...env } });
    try {
      await use(api);
    } finally {
      await api.close();
    }
  };
  const refused = async (api: Api, query: string, status: number, type: string): Promise<void> => {
    const answer = await ask(api, query);
    expectEnvelope(answer);
    expectError(answer, status, type);
  };
  const crossed = (times: number): string =>
    Array.from({ length: times }, (_, i) => `(SELECT arrayJoin(groupArray(key_id)) AS k${i} FROM key_verifications_v1) AS t${i}`).join(
      ", ",
    );

  test("[analytics §2] a query over the time limit is 422, and the quota of time 429", async () => {
    await withLimits({ ANALYTICS_QUERY_SECONDS: "1", ANALYTICS_SECONDS_PER_HOUR: "1" }, async (api) => {
      const query = `SELECT count() AS n FROM ${crossed(5)} WHERE k0 = lower(k4)`;
      await refused(api, query, 422, "user/unprocessable_entity/query_execution_timeout");
      await refused(api, "SELECT count(*) AS n FROM key_verifications_v1", 429, "user/too_many_requests/query_quota_exceeded");
    });
  });

  test("[analytics §2] a query over the memory limit is 422", async () => {
    await withLimits({ ANALYTICS_MEMORY: "256MiB", ANALYTICS_QUERY_SECONDS: "50" }, async (api) => {
      const query = `SELECT length(groupArray(concat(k0, k1, k2, k0, k1, k2))) AS n FROM ${crossed(3)}`;
      await refused(api, query, 422, "user/unprocessable_entity/query_memory_limit_exceeded");
    });
  });

  test("[analytics §2] a query that reads too many rows is 422", async () => {
    await withLimits({ ANALYTICS_QUERY_ROWS: "100" }, (api) =>
      refused(
        api,
        "SELECT count(DISTINCT key_id) AS n FROM key_verifications_v1",
        422,
        "user/unprocessable_entity/query_rows_limit_exceeded",
      ),
    );
  });

  test("[analytics §2] the quota of queries is 429, and counts only those that ran", async () => {
    await withLimits({ ANALYTICS_QUERIES_PER_HOUR: "3" }, async (api) => {
      const query = "SELECT count(*) AS n FROM key_verifications_v1";
      for (let i = 0; i < 5; i++) await refused(api, "SELECT 1", 400, "user/bad_request/invalid_analytics_query");
      for (let i = 0; i < 3; i++) expect(dataOf(await ask(api, query))).toEqual([{ n: 300 }]);
      await refused(api, query, 429, "user/too_many_requests/query_quota_exceeded");
      await refused(api, "SELECT 1", 400, "user/bad_request/invalid_analytics_query");
    });
  });

  test("[analytics §6, management §6] an insert that is repeated counts nothing twice, in no table, and is followed once", async () => {
    let inserts = 0;
    const analytics = openAnalytics(place, {
      observer: {
        ...observer,
        // The engine has the rows by now; what fails here looks to the recorder like a lost answer.
        written: () => {
          if (++inserts < 3) throw new Error("the answer was lost");
        },
      },
    });
    const asked = { kind: "verifications", filter: { keyId: ["key_twice"] }, scope: undefined, rootKeyId: "", limit: 500 } as const;
    const call = { ...asked, signal: new AbortController().signal, onWait: () => undefined };
    const { cursor } = await analytics.tail({ ...call, cursor: "", waitMs: 0 });
    const event = { requestId: "req_twice", time: Date.now(), apiId: "api_twice", keyId: "key_twice", identityId: "", externalId: "" };
    analytics.recordVerification({ ...event, outcome: "VALID", tags: [], spentCredits: 2, latency: 1 });
    analytics.start();
    await expect.poll(() => inserts).toBe(3);
    expect((await analytics.tail({ ...call, cursor, waitMs: 20_000 })).events).toHaveLength(1);
    await analytics.stop();
    await withLimits({}, async (api) => {
      const once = async (columns: string, table: string): Promise<unknown> =>
        dataOf(await ask(api, `SELECT ${columns} FROM ${table} WHERE key_id = 'key_twice'`));
      expect(await once("count(*) AS n", "key_verifications_v1")).toEqual([{ n: 1 }]);
      for (const step of ["minute", "hour", "day", "month"]) {
        const table = `key_verifications_per_${step}_v1`;
        expect([step, await once("sum(count) AS n, sum(spent_credits) AS s", table)]).toEqual([step, [{ n: 1, s: 2 }]]);
      }
    });
  });
});
