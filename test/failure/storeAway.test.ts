import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { type Api, dataOf, expectError, startApi } from "../support/api.ts";
import { eventsIn } from "../support/written.ts";
import { type BreakableStore, closeEngines, outages } from "./outages.ts";
import { createShiftedClock, type ShiftedClock } from "./shiftedClock.ts";

const MONTH = 2_592_000_000;
/** Milliseconds. */
const ANSWERED_WITHIN = 5_000;
const SERVED_FOR = 30_000;
const TICK = 100;
/** Twice the time between two polls. */
const HEARD_WITHIN = 500;

/** Resolves after a call's deadline, counted in ticks: a stall of this machine delays every tick. */
const untilTooLate = async (): Promise<"too late"> => {
  for (let left = ANSWERED_WITHIN; left > 0; left -= TICK) await sleep(TICK);
  return "too late";
};

afterAll(closeEngines);

// Each on a store of its own: side by side, since most of their time they wait for what does not answer.
describe.concurrent.each(outages)("while $name", (outage) => {
  let clock: ShiftedClock;
  let place: BreakableStore;
  let api: Api;
  beforeAll(async () => {
    clock = createShiftedClock();
    place = await outage.open();
    api = await startApi(outage.engine, { clock, store: place.store });
  });
  afterEach(async () => {
    place.repair();
    await vi.waitFor(async () => dataOf(await call("apis.createApi", { name: "recovered" })), { timeout: 30_000, interval: 100 });
  });
  afterAll(async () => {
    await api.close();
    await place.close();
  });

  const call = (procedure: string, body: unknown, rootKey: string = api.rootKey): Promise<Answer> => {
    const [edge] = api.edges;
    if (!edge) throw new Error("there is no edge");
    return edge.call(procedure, body, rootKey);
  };
  const data = async (procedure: string, body: unknown) => dataOf(await call(procedure, body));
  const createKey = async (fields: object = {}) => {
    const { apiId } = await data("apis.createApi", { name: "failure" });
    const { key, keyId } = await data("keys.createKey", { apiId, ...fields });
    return { apiId: apiId as string, keyId: keyId as string, key: key as string };
  };
  const codeOf = async (key: string) => (await data("keys.verifyKey", { key })).code;
  /** Everything that was cached is forgotten, these keys are read again, and the feed is heard: what is remembered counts from now. */
  const warm = async (...keys: string[]): Promise<void> => {
    clock.shift(SERVED_FOR);
    for (const key of keys) expect(await codeOf(key)).toBe("VALID");
    await sleep(HEARD_WITHIN);
    for (const key of keys) expect(await codeOf(key)).toBe("VALID");
  };
  const expectUnavailable = async (procedure: string, body: unknown, rootKey?: string): Promise<void> => {
    const answer = await Promise.race([call(procedure, body, rootKey), untilTooLate()]);
    if (answer === "too late") expect.unreachable(`${procedure}: ${answer}`);
    expectError(answer, 503, "unkey/application/service_unavailable");
  };

  test.sequential("[protocol §9] every call that needs the store is 503 within 5 s, and none a wrong 404, 401 or NOT_FOUND", async () => {
    const { apiId, keyId, key } = await createKey();
    const limited = await createKey({ credits: { remaining: 1_000_000 } });
    await warm(key, limited.key);
    place.breakDown();
    const needing: readonly (readonly [string, object])[] = [
      ["apis.createApi", { name: "refused" }],
      ["apis.getApi", { apiId }],
      ["apis.getApi", { apiId: "api_unknown" }],
      ["apis.deleteApi", { apiId }],
      ["permissions.createPermission", { name: "refused", slug: "refused" }],
      ["permissions.createRole", { name: "refused" }],
      ["keys.createKey", { apiId }],
      ["keys.createKey", { apiId: "api_unknown" }],
      ["keys.getKey", { keyId }],
      ["keys.getKey", { keyId: "key_unknown" }],
      ["keys.updateKey", { keyId, name: "refused" }],
      ["keys.deleteKey", { keyId }],
      ["keys.deleteKey", { keyId: "key_unknown" }],
      ["keys.verifyKey", { key: "never_seen" }],
      ["keys.verifyKey", { key: limited.key }],
      ["ratelimit.limit", { namespace: "never_seen", identifier: "user", limit: 10, duration: MONTH }],
    ];
    await Promise.all(needing.map(([procedure, body]) => expectUnavailable(procedure, body)));
    // Later ones need not wait to find out.
    await Promise.all(needing.map(([procedure, body]) => expectUnavailable(procedure, body)));

    place.repair();
    await vi.waitFor(async () => expect(await data("apis.getApi", { apiId })).toEqual({ id: apiId, name: "failure" }), { timeout: 30_000 });
    expect(await data("keys.getKey", { keyId })).not.toHaveProperty("name");
    expect(await codeOf(key)).toBe("VALID");
    expect(await codeOf("never_seen")).toBe("NOT_FOUND");
  });

  test.sequential("[protocol §9] a spend that comes when nothing has been heard for a second is 503 within 5 s as well", async () => {
    const { key } = await createKey({ credits: { remaining: 1_000_000 } });
    await warm(key);
    place.breakDown();
    // Reads of the feed hang first, so the store is taken for unavailable while the spend still waits for it.
    await sleep(1_200);
    await expectUnavailable("keys.verifyKey", { key });
  });

  test.sequential("[protocol §7] a root key that is not cached is 503, not 401", async () => {
    const { key } = await createKey();
    await warm(key);
    const uncached = await api.createRootKey();
    place.breakDown();
    await expectUnavailable("keys.verifyKey", { key }, uncached);
    place.repair();
    await vi.waitFor(async () => expect(dataOf(await call("keys.verifyKey", { key }, uncached)).code).toBe("VALID"), { timeout: 30_000 });
  });

  test.sequential("[protocol §1] liveness is 200 all the time", async () => {
    place.breakDown();
    await expectUnavailable("apis.getApi", { apiId: "api_unknown" });
    clock.shift(2 * SERVED_FOR);
    for (let i = 0; i < 5; i++) {
      const response = await fetch(`${api.url}/v2/liveness`);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ data: { message: "OK" } });
    }
  });

  test.sequential("warm keys without credits verify for at most 30 s, then they are 503, too, and afterwards VALID again", async () => {
    const plain = await createKey({ permissions: ["held"] });
    const disabled = await createKey({ enabled: false });
    await warm(plain.key);
    expect(await codeOf(disabled.key)).toBe("DISABLED");
    place.breakDown();
    const broken = clock.monotonic();
    // Includes the time that the calls took.
    const shiftTo = (second: number): void => clock.shift(Math.max(0, broken + second * 1_000 - clock.monotonic()));
    for (let second = 1; second < 25; second += 4) {
      shiftTo(second);
      const { meta } = (await call("keys.verifyKey", { key: plain.key })).body;
      expect(meta.degraded).toEqual(["verification"]);
      const answers = await Promise.all(Array.from({ length: 20 }, () => data("keys.verifyKey", { key: plain.key, permissions: "held" })));
      expect(answers.every(({ code }) => code === "VALID")).toBe(true);
      expect((await data("keys.verifyKey", { key: plain.key, permissions: "other" })).code).toBe("INSUFFICIENT_PERMISSIONS");
      expect(await codeOf(disabled.key)).toBe("DISABLED");
    }
    shiftTo(SERVED_FOR / 1_000);
    await expectUnavailable("keys.verifyKey", { key: plain.key });
    await expectUnavailable("keys.verifyKey", { key: disabled.key });

    place.repair();
    await vi.waitFor(async () => expect(await codeOf(plain.key)).toBe("VALID"), { timeout: 30_000 });
    expect(await codeOf(disabled.key)).toBe("DISABLED");
    await vi.waitFor(async () => expect((await call("keys.verifyKey", { key: plain.key })).body.meta).not.toHaveProperty("degraded"));
  });

  test.sequential("an answer says what in it the store did not decide, on every edge, and a refusal says it, too", async () => {
    const limit = { name: "requests", limit: 5, duration: MONTH, autoApply: true };
    const { key } = await createKey({ ratelimits: [limit] });
    const revoked = await api.createRootKey();
    await warm(key);
    expect((await call("keys.verifyKey", { key: 5 }, revoked)).body.meta).not.toHaveProperty("degraded");
    place.breakDown();
    clock.shift(1_000);
    for (const edge of api.edges) {
      const { meta } = (await edge.call("keys.verifyKey", { key }, api.rootKey)).body;
      expect([...(meta.degraded ?? [])].sort(), edge.name).toEqual(["ratelimits", "verification"]);
      const refused = (await edge.call("keys.verifyKey", { key: "" }, revoked)).body;
      expect(refused.error?.status, edge.name).toBe(400);
      expect(refused.meta.degraded, edge.name).toEqual(["verification"]);
    }
  });

  test.sequential("limits continue with the held budget and then one further limit; several limits are still all or none", async () => {
    const narrow = { name: "narrow", limit: 5, duration: MONTH, autoApply: true };
    const wide = { name: "wide", limit: 8, duration: MONTH, autoApply: true };
    const { key } = await createKey({ ratelimits: [narrow, wide] });
    const limit = { namespace: "known", identifier: "user", limit: 10, duration: MONTH };
    await data("ratelimit.limit", limit);
    await warm(key);
    await data("ratelimit.limit", limit);
    place.breakDown();
    const verified = await Promise.all(Array.from({ length: 20 }, () => data("keys.verifyKey", { key })));
    expect(verified.filter(({ code }) => code === "VALID").length).toBe(5);
    expect(verified.filter(({ code }) => code === "RATE_LIMITED").length).toBe(15);
    for (const { ratelimits } of verified) expect(ratelimits).toMatchObject([{ name: "narrow" }, { name: "wide" }]);
    const checked = await Promise.all(Array.from({ length: 30 }, () => data("ratelimit.limit", limit)));
    expect(checked.filter(({ success }) => success).length).toBe(10);

    place.repair();
    await vi.waitFor(
      async () => expect(await data("ratelimit.limit", { ...limit, cost: 0 })).toMatchObject({ success: true, remaining: 8 }),
      { timeout: 30_000 },
    );
  });

  test.sequential("[protocol §2] a change that met the outage was made wholly or not at all, and its events exist exactly when it was", async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, (_, i) => createKey({ name: `key ${i}`, credits: { remaining: 1_000 } })));
    const acknowledged = new Map(keys.map(({ keyId }) => [keyId, { updates: 0, spent: 0, name: "" }]));
    let unknownSpends = 0;
    const storm = keys.map(async ({ keyId, key }, n) => {
      const told = acknowledged.get(keyId);
      for (let i = 0; told; i++) {
        const name = `key ${n}, change ${i}`;
        const update = await call("keys.updateKey", { keyId, name });
        if (update.status !== 200) return;
        told.updates++;
        told.name = name;
        const spend = await call("keys.verifyKey", { key, credits: { cost: 1 } });
        if (spend.status === 200) told.spent++;
        else unknownSpends++;
      }
    });
    const busy = () => expect([...acknowledged.values()].every(({ updates }) => updates >= 2)).toBe(true);
    await vi.waitFor(busy, { timeout: 30_000, interval: 5 });
    place.breakDown();
    await Promise.all(storm);
    place.repair();
    await vi.waitFor(async () => dataOf(await call("apis.createApi", { name: "recovered" })), { timeout: 30_000, interval: 100 });

    const events = await eventsIn(api.store);
    for (const { keyId } of keys) {
      const told = acknowledged.get(keyId);
      const stored = await api.store.collection("keys").findOne({ _id: keyId });
      const updates = events.filter(({ event, resources }) => event === "key.update" && resources[0]?.id === keyId).length;
      expect(updates).toBe(stored?.revision);
      // One may have been made without its answer.
      expect([told?.updates, (told?.updates ?? 0) + 1]).toContain(updates);
      if (updates === told?.updates) expect(stored?.name).toBe(told.name);
      const gone = 1_000 - (stored?.remaining ?? 0);
      expect(gone).toBeGreaterThanOrEqual(told?.spent ?? 0);
      expect(gone).toBeLessThanOrEqual((told?.spent ?? 0) + 1);
    }
    expect(unknownSpends).toBeLessThanOrEqual(keys.length);
  });
});
