import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";
import { type Place, ways } from "./places.ts";

const [engine] = engines;

describe.each(ways)("on $name", (way) => {
  let place: Place;
  let api: Api;
  const start = async (): Promise<Api> => (engine ? startApi(engine, { env: place.env }) : expect.unreachable());
  beforeAll(async () => {
    place = await way.open();
    api = await start();
  });
  afterAll(async () => {
    await api.close();
    await engine?.close();
    await place.close();
  });

  const call = (procedure: string, body: unknown, rootKey = api.rootKey) => request(api.url, procedure, { rootKey, body });
  const data = async (procedure: string, body: unknown) => dataOf(await call(procedure, body));
  const ask = async (procedure: string, query: string): Promise<Record<string, unknown>[]> =>
    (await data(procedure, { query })) as unknown as Record<string, unknown>[];
  const verifications = (query: string) => ask("analytics.getVerifications", query);
  const limits = (query: string) => ask("analytics.getRatelimits", query);
  /** Waits until the table has rows of the request, and returns them in the order of their writing. */
  const rowsOf = async (table: "key_verifications_v1" | "ratelimits_v1", requestId: string): Promise<Record<string, unknown>[]> => {
    const read = () => (table === "ratelimits_v1" ? limits : verifications)(`SELECT * FROM ${table} WHERE request_id = '${requestId}'`);
    await expect.poll(async () => (await read()).length).toBeGreaterThan(0);
    return read();
  };
  const createKey = async (fields: object = {}) => {
    const { apiId } = await data("apis.createApi", { name: "events" });
    const { keyId, key } = await data("keys.createKey", { apiId, ...fields });
    return { apiId: apiId as string, keyId: keyId as string, key: key as string };
  };

  test("[analytics §4] a verification writes one row with its key, outcome and cost", async () => {
    const { apiId, keyId, key } = await createKey({ externalId: "alice", credits: { remaining: 10 } });
    const { identity } = await data("keys.getKey", { keyId });
    const before = Date.now();
    const { body } = await call("keys.verifyKey", { key, tags: ["path=/", 'it\'s "quoted"\n\u0000\\', "ü😀"], credits: { cost: 3 } });
    const rows = await rowsOf("key_verifications_v1", body.meta.requestId);
    expect(rows).toEqual([
      {
        request_id: body.meta.requestId,
        time: expect.any(Number),
        workspace_id: "ws_default",
        key_space_id: apiId,
        identity_id: (identity as { id: string }).id,
        external_id: "alice",
        key_id: keyId,
        region: "local",
        source: "api",
        app_id: "",
        outcome: "VALID",
        tags: ["path=/", 'it\'s "quoted"\n\u0000\\', "ü😀"],
        spent_credits: 3,
        latency: expect.any(Number),
      },
    ]);
    expect(rows[0]?.time).toBeGreaterThanOrEqual(before);
    expect(rows[0]?.time).toBeLessThanOrEqual(Date.now());
    expect(rows[0]?.latency).toBeGreaterThan(0);
  });

  test("[analytics §4] every outcome of a key that was found is a row, credits only where they were taken", async () => {
    const limited = { ratelimits: [{ name: "requests", limit: 1, duration: 3_600_000, autoApply: true }] };
    const plain = await createKey();
    const cases: [string, Record<string, unknown>, object, number][] = [
      ["DISABLED", { enabled: false, credits: { remaining: 5 } }, { tags: ["off"] }, 0],
      ["EXPIRED", { expires: Date.now() + 1_000 }, {}, 0],
      ["INSUFFICIENT_PERMISSIONS", { credits: { remaining: 5 } }, { permissions: "a.b" }, 0],
      ["USAGE_EXCEEDED", { credits: { remaining: 1 } }, { credits: { cost: 2 } }, 0],
      ["VALID", { credits: { remaining: 5 } }, { credits: { cost: 0 } }, 0],
      ["VALID", { credits: { remaining: 5 } }, {}, 1],
      ["VALID", {}, { credits: { cost: 4 } }, 0],
    ];
    const expected = new Map<string, [string, number]>();
    for (const [outcome, fields, extra, spent] of cases) {
      const { key } = await createKey(fields);
      let body = (await call("keys.verifyKey", { key, ...extra })).body;
      if (outcome === "EXPIRED") {
        const again = async () => {
          body = (await call("keys.verifyKey", { key })).body;
          return body.data;
        };
        await expect.poll(again).toMatchObject({ code: "EXPIRED" });
      }
      expect(body.data).toMatchObject({ code: outcome });
      expected.set(body.meta.requestId, [outcome, spent]);
    }
    const { key } = await createKey({ ...limited, credits: { remaining: 5 } });
    await call("keys.verifyKey", { key });
    expected.set((await call("keys.verifyKey", { key })).body.meta.requestId, ["RATE_LIMITED", 0]);
    expected.set((await call("keys.verifyKey", { key: plain.key })).body.meta.requestId, ["VALID", 0]);
    for (const [requestId, [outcome, spent]] of expected) {
      expect(await rowsOf("key_verifications_v1", requestId)).toEqual([expect.objectContaining({ outcome, spent_credits: spent })]);
    }
  });

  test("[analytics §4] a verification that finds no key, or fails, leaves no row, nor do other calls with a root key", async () => {
    const { apiId, keyId, key } = await createKey();
    const stranger = await api.createRootKey({ permissions: ["api.api_other.verify_key"] });
    const ids = [
      (await call("keys.verifyKey", { key: "unknown_key" })).body.meta.requestId,
      (await call("keys.verifyKey", { key }, stranger)).body.meta.requestId,
      (await call("keys.verifyKey", { key, permissions: "a AND" })).body.meta.requestId,
      (await call("keys.verifyKey", { key, ratelimits: [{ name: "unknown" }] })).body.meta.requestId,
      (await call("keys.verifyKey", {})).body.meta.requestId,
      (await call("apis.getApi", { apiId })).body.meta.requestId,
      (await call("keys.whoami", { key })).body.meta.requestId,
    ];
    await data("keys.deleteKey", { keyId });
    ids.push((await call("keys.verifyKey", { key })).body.meta.requestId);
    const later = await createKey();
    await rowsOf("key_verifications_v1", (await call("keys.verifyKey", { key: later.key })).body.meta.requestId);
    const list = ids.map((id) => `'${id}'`).join(", ");
    expect(await verifications(`SELECT request_id FROM key_verifications_v1 WHERE request_id IN (${list})`)).toEqual([]);
  });

  test("[analytics §5] a check of a limit writes one row, passed or denied, with the cost that was asked for", async () => {
    const namespace = `events-${way.name}`;
    const check = { namespace, identifier: "user 1\n'", limit: 5, duration: 600_000 };
    const passed = await call("ratelimit.limit", { ...check, cost: 3 });
    const denied = await call("ratelimit.limit", { ...check, cost: 4 });
    const looked = await call("ratelimit.limit", { ...check, cost: 0 });
    const { overrideId } = await data("ratelimit.setOverride", { namespace, identifier: "vip*", limit: 7, duration: 600_000 });
    const overridden = await call("ratelimit.limit", { ...check, identifier: "vip1" });
    const [row] = await rowsOf("ratelimits_v1", passed.body.meta.requestId);
    expect(row).toEqual({
      request_id: passed.body.meta.requestId,
      time: expect.any(Number),
      workspace_id: "ws_default",
      namespace_id: expect.stringMatching(/^rlns_/),
      identifier: "user 1\n'",
      passed: true,
      latency: expect.any(Number),
      override_id: "",
      limit: 5,
      remaining: 2,
      reset_at: (passed.body.data as { reset: number }).reset,
      tokens: 3,
    });
    expect(await rowsOf("ratelimits_v1", denied.body.meta.requestId)).toEqual([expect.objectContaining({ passed: false, tokens: 4 })]);
    expect(await rowsOf("ratelimits_v1", looked.body.meta.requestId)).toEqual([expect.objectContaining({ passed: true, tokens: 0 })]);
    expect(await rowsOf("ratelimits_v1", overridden.body.meta.requestId)).toEqual([
      expect.objectContaining({ override_id: overrideId, limit: 7, namespace_id: row?.namespace_id }),
    ]);
  });

  test("[analytics §5] a batch writes one row for each entry, with the entry's own result", async () => {
    const entry = { namespace: `batch-${way.name}`, limit: 2, duration: 600_000 };
    const { body } = await call("ratelimit.multiLimit", [
      { ...entry, identifier: "fits" },
      { ...entry, identifier: "does not", cost: 3 },
      { ...entry, namespace: `batch2-${way.name}`, identifier: "fits too" },
    ]);
    expect(body.data).toMatchObject({ passed: false });
    const rows = await rowsOf("ratelimits_v1", body.meta.requestId);
    expect(
      rows
        .map(({ identifier, passed, tokens }) => ({ identifier, passed, tokens }))
        .sort((a, b) => String(a.identifier).localeCompare(String(b.identifier))),
    ).toEqual([
      { identifier: "does not", passed: false, tokens: 3 },
      { identifier: "fits", passed: true, tokens: 1 },
      { identifier: "fits too", passed: true, tokens: 1 },
    ]);
    expect(new Set(rows.map(({ namespace_id }) => namespace_id)).size).toBe(2);
  });

  test("[analytics §5] limits that a verification checks, and checks that fail, leave no row of a limit", async () => {
    const { key } = await createKey({ ratelimits: [{ name: "requests", limit: 5, duration: 60_000, autoApply: true }] });
    const ids = [(await call("keys.verifyKey", { key })).body.meta.requestId];
    const powerless = await api.createRootKey({ permissions: [] });
    ids.push(
      (await call("ratelimit.limit", { namespace: "n", identifier: "x", limit: 1, duration: 1_000 }, powerless)).body.meta.requestId,
    );
    ids.push((await call("ratelimit.limit", { namespace: "n" })).body.meta.requestId);
    const after = await call("ratelimit.limit", { namespace: "after", identifier: "x", limit: 1, duration: 1_000 });
    await rowsOf("ratelimits_v1", after.body.meta.requestId);
    expect(await limits(`SELECT request_id FROM ratelimits_v1 WHERE request_id IN (${ids.map((id) => `'${id}'`).join(", ")})`)).toEqual([]);
  });

  test("[analytics §6] an event is in the raw table and in all four aggregates", async () => {
    const { keyId, key } = await createKey({ credits: { remaining: 10 } });
    for (let i = 0; i < 3; i++) await call("keys.verifyKey", { key, credits: { cost: 2 } });
    for (const step of ["minute", "hour", "day", "month"]) {
      const query = `SELECT sum(count) AS n, sum(spent_credits) AS spent FROM key_verifications_per_${step}_v1 WHERE key_id = '${keyId}'`;
      await expect.poll(() => verifications(query)).toEqual([{ n: 3, spent: 6 }]);
    }
  });

  test("[analytics §1] the events of deleted APIs and keys stay", async () => {
    const { apiId, keyId, key } = await createKey();
    const { body } = await call("keys.verifyKey", { key });
    await data("keys.deleteKey", { keyId });
    await data("apis.deleteApi", { apiId });
    expect(await rowsOf("key_verifications_v1", body.meta.requestId)).toHaveLength(1);
  });

  test("[analytics §6] stopping writes what waits", async () => {
    const { keyId, key } = await createKey();
    for (let i = 0; i < 20; i++) await call("keys.verifyKey", { key });
    await api.close();
    api = await start();
    expect(await verifications(`SELECT count(*) AS n FROM key_verifications_v1 WHERE key_id = '${keyId}'`)).toEqual([{ n: 20 }]);
  });
});
