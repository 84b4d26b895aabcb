// @same-on-every-engine
import { createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Answer, v2Edge } from "../../../bench/harness/v2Edge.ts";
import { TestingService } from "../../../gen/latchkey/v2/testing_pb.ts";
import { createSettableClock, type SettableClock } from "../../../src/platform/base/clock.ts";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { type HttpAnswer, request } from "../../support/envelope.ts";
import { type FaultyStore, faultyStore } from "../../support/faultyStore.ts";
import { engines } from "../../support/stores.ts";

const DAY = 86_400_000;
const YEAR = 365 * DAY;
const LAST = 4_102_444_800_000;
/** Noon, so that a test of seconds crosses no day. */
const NOON = Date.UTC(2031, 4, 20, 12);

// Only the embedded store may be used with a clock that is turned.
const [engine] = engines;
if (engine?.name !== "embedded") throw new Error("the embedded engine is the first one");

let api: Api;
let store: FaultyStore;
let clock: SettableClock;
beforeAll(async () => {
  clock = createSettableClock();
  store = faultyStore(await engine.open());
  api = await startApi(engine, { store, testClock: clock });
});
afterAll(async () => {
  await api.close();
  await engine.close();
});

const call = (procedure: string, body: object, rootKey = api.rootKey): Promise<Answer> => v2Edge(api.url).call(procedure, body, rootKey);
const data = async (procedure: string, body: object, rootKey?: string): Promise<Record<string, unknown>> =>
  dataOf(await call(procedure, body, rootKey));
const setTime = (time: unknown, rootKey: string | undefined = api.rootKey): Promise<HttpAnswer> =>
  request(api.url, "testing.setTime", { rootKey, body: { time } });
const turn = async (time: number): Promise<void> => {
  dataOf(await setTime(time));
};
let apiId: string;
beforeEach(async () => {
  await turn(NOON);
  apiId = (await data("apis.createApi", { name: "clock" })).apiId as string;
});
const createKey = async (fields: object = {}): Promise<{ key: string; keyId: string }> => {
  const { key, keyId } = await data("keys.createKey", { apiId, ...fields });
  return { key: key as string, keyId: keyId as string };
};
const codeOf = async (key: string, fields: object = {}): Promise<unknown> => (await data("keys.verifyKey", { key, ...fields })).code;

describe("testing.setTime", () => {
  test("sets the time, which continues from there", async () => {
    for (const time of [NOON, NOON + YEAR, NOON - 20 * YEAR, 0, LAST]) {
      const answer = await setTime(time);
      expect(dataOf(answer)).toEqual({});
      const { keyId } = await createKey();
      const { createdAt } = await data("keys.getKey", { keyId });
      expect(createdAt).toBeGreaterThanOrEqual(time);
      expect(createdAt).toBeLessThanOrEqual(clock.now());
      expect(clock.now() - time).toBeLessThan(DAY);
    }
  });

  test.each([[undefined], [null], [-1], [LAST + 1], [1.5], ["1"], [true], [[]]])(
    "refuses %j with 400, and the time stays",
    async (time) => {
      const error = expectError(await setTime(time), 400, "unkey/application/invalid_input");
      expect(error.errors?.map(({ location }) => location)).toEqual(["body.time"]);
      expect(Math.abs(clock.now() - NOON)).toBeLessThan(DAY);
    },
  );

  test("refuses unknown fields with 400 and callers without a root key with 401", async () => {
    const answer = await request(api.url, "testing.setTime", { rootKey: api.rootKey, body: { time: NOON, zone: "UTC" } });
    expectError(answer, 400, "unkey/application/invalid_input");
    expectError(await request(api.url, "testing.setTime", { body: { time: NOON + YEAR } }), 401, "unkey/authentication/missing");
    expectError(await setTime(NOON + YEAR, "lkr_wrong"), 401, "unkey/authentication/key_not_found");
    expect(clock.now() - NOON).toBeLessThan(DAY);
  });

  test("asks for no permission", async () => {
    const rootKey = await api.createRootKey({ permissions: ["api.*.read_api"] });
    expect(dataOf(await setTime(NOON + DAY, rootKey))).toEqual({});
  });

  test("is there over Connect, gRPC and gRPC-Web", async () => {
    const baseUrl = api.url;
    const transports: Transport[] = [
      createConnectTransport({ baseUrl, httpVersion: "1.1" }),
      createGrpcTransport({ baseUrl }),
      createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
    ];
    for (const [i, transport] of transports.entries()) {
      const time = NOON + (i + 1) * YEAR;
      await createClient(TestingService, transport).setTime(
        { time: BigInt(time) },
        { headers: { authorization: `Bearer ${api.rootKey}` } },
      );
      expect(clock.now()).toBeGreaterThanOrEqual(time);
      expect(clock.now()).toBeLessThan(time + DAY);
    }
  });

  test("is unknown to a service without a test clock", async () => {
    const plain = await startApi(engine);
    const answer = await request(plain.url, "testing.setTime", { rootKey: plain.rootKey, body: { time: NOON } });
    expectError(answer, 404, "unkey/application/procedure_not_found");
    const client = createClient(TestingService, createGrpcTransport({ baseUrl: plain.url }));
    await expect(client.setTime({ time: 1n }, { headers: { authorization: `Bearer ${plain.rootKey}` } })).rejects.toThrow(/unimplemented/);
    await plain.close();
  });
});

describe("times that follow the clock, both ways", () => {
  test("expiry of keys", async () => {
    const { key } = await createKey({ expires: NOON + DAY });
    for (const [time, code] of [
      [NOON, "VALID"],
      [NOON + DAY - 60_000, "VALID"],
      [NOON + DAY + 1, "EXPIRED"],
      [LAST, "EXPIRED"],
      [NOON, "VALID"],
      [0, "VALID"],
      [NOON + 2 * DAY, "EXPIRED"],
    ] as const) {
      await turn(time);
      expect({ time, code: await codeOf(key) }).toEqual({ time, code });
    }
  });

  test("the end of a rerolled key", async () => {
    const { key, keyId } = await createKey();
    await data("keys.rerollKey", { keyId, expiration: 3_600_000 });
    expect(await codeOf(key)).toBe("VALID");
    await turn(NOON + 3_600_000 + 120_000);
    expect(await codeOf(key)).toBe("EXPIRED");
  });

  test("expiry of root keys, also of one that is in use", async () => {
    const rootKey = await api.createRootKey({ expires: NOON + DAY });
    for (const time of [NOON, NOON + 2 * DAY, NOON, 0, LAST]) {
      await turn(time);
      const answer = await call("apis.getApi", { apiId }, rootKey);
      if (time > NOON + DAY) expectError(answer, 401, "unkey/authentication/key_expired");
      else expect(answer.status).toBe(200);
    }
  });

  test("refills: every instant is added once, and none again when the clock is turned back and forth", async () => {
    const { key, keyId } = await createKey({ credits: { remaining: 10, refill: { interval: "daily", amount: 100 } } });
    const monthly = await createKey({ credits: { remaining: 0, refill: { interval: "monthly", amount: 7, refillDay: 31 } } });
    const balance = async (id: string): Promise<unknown> =>
      ((await data("keys.getKey", { keyId: id })).credits as { remaining: number }).remaining;
    await turn(NOON + DAY);
    expect(await data("keys.verifyKey", { key })).toMatchObject({ valid: true, credits: 109 });
    await turn(NOON + 4 * DAY);
    expect(await balance(keyId)).toBe(409);
    expect(await data("keys.verifyKey", { key })).toMatchObject({ credits: 408 });
    await turn(NOON);
    expect(await data("keys.verifyKey", { key })).toMatchObject({ credits: 407 });
    await turn(NOON + 4 * DAY);
    expect(await data("keys.verifyKey", { key })).toMatchObject({ credits: 406 });
    await turn(NOON + 5 * DAY);
    expect(await data("keys.verifyKey", { key })).toMatchObject({ credits: 505 });
    // 31 May, 30 June, …, 31 December.
    await turn(Date.UTC(2031, 11, 31));
    expect(await balance(monthly.keyId)).toBe(8 * 7);
  });

  test("a refill over the whole range of the clock ends at the largest balance", async () => {
    await turn(0);
    const { key } = await createKey({ credits: { remaining: 0, refill: { interval: "daily", amount: 1_000_000_000_000_000 } } });
    await turn(LAST);
    expect(await data("keys.verifyKey", { key })).toMatchObject({ valid: true, credits: Number.MAX_SAFE_INTEGER - 1 });
  });

  test("times of creation, change and use, and those of audit events", async () => {
    const { key, keyId } = await createKey();
    await turn(NOON + DAY);
    await data("keys.updateKey", { keyId, name: "later" });
    await codeOf(key);
    const { createdAt, updatedAt } = await data("keys.getKey", { keyId });
    expect(createdAt).toBeLessThan(NOON + DAY);
    expect(updatedAt).toBeGreaterThanOrEqual(NOON + DAY);
    const outbox = await store.collection("keys").findOne({ _id: keyId });
    for (const { event, time } of outbox?.outbox ?? []) expect(time >= NOON + DAY).toBe(event === "key.update");
  });
});

describe("rate limits under a clock that is turned", () => {
  const duration = 10_000;
  const limited = async (identifier: string): Promise<{ success: boolean; remaining: number; reset: number }> =>
    (await data("ratelimit.limit", { namespace: "clock", identifier, limit: 3, duration })) as never;
  /** Calls until one is denied; each answer's reset must lie within the window of its time. */
  const exhaust = async (identifier: string): Promise<number> => {
    for (let passed = 0; ; passed++) {
      const { success, reset } = await limited(identifier);
      expect(reset).toBeGreaterThan(clock.now() - 5_000);
      expect(reset).toBeLessThanOrEqual(clock.now() + duration);
      if (!success) return passed;
    }
  };

  test.each([8_000, 10_000, 18_000, 30_000, 58_000, 68_000, 3_600_000, YEAR])(
    "set back by %i ms they start again, and continue from there",
    async (back) => {
      const identifier = `back ${back}`;
      expect(await exhaust(identifier)).toBe(3);
      expect(await exhaust(identifier)).toBe(0);
      await turn(NOON - back);
      expect(await exhaust(identifier)).toBe(3);
      expect(await exhaust(identifier)).toBe(0);
      // Two windows on, in the past as it was or not.
      await turn(NOON - back + 2 * duration);
      expect(await exhaust(identifier)).toBe(3);
    },
  );

  test.each([2 * duration, 51_000, 60_000, 62_000, 3_600_000, YEAR, LAST - NOON])(
    "set forth by %i ms they have room again",
    async (forth) => {
      const identifier = `forth ${forth}`;
      expect(await exhaust(identifier)).toBe(3);
      await turn(NOON + forth);
      expect(await exhaust(identifier)).toBe(3);
    },
  );

  test("the window before still weighs after half a window", async () => {
    expect(await exhaust("sliding")).toBe(3);
    // All three were counted in the window that began at noon; half of the next one has passed.
    await turn(NOON + duration + duration / 2);
    expect(await exhaust("sliding")).toBe(2);
  });

  test("[management §3] their counters are listed by their own names, those of the present run alone", async () => {
    const list = async (fields: object = {}) => {
      const counters = (await data("ratelimit.listCounters", { namespace: "clock", ...fields })) as unknown as { identifier: string }[];
      return counters.filter(({ identifier }) => identifier.startsWith("listed"));
    };
    await limited("listed");
    await limited("listed");
    expect(await list()).toMatchObject([{ identifier: "listed", current: 2, previous: 0, held: 0 }]);
    await turn(NOON - DAY);
    expect(await list()).toEqual([]);
    await limited("listed again");
    // The sorted result of an earlier list may be reused for a while (management §8).
    await expect.poll(() => list({ identifier: "listed" })).toMatchObject([{ identifier: "listed again", current: 1 }]);
  });

  test("limits of keys follow in the same way", async () => {
    const { key } = await createKey({ ratelimits: [{ name: "requests", limit: 2, duration: 3_600_000, autoApply: true }] });
    const codes = async (): Promise<unknown[]> => {
      const seen: unknown[] = [];
      for (let i = 0; i < 3; i++) {
        const { code } = await data("keys.explain", { key });
        seen.push(await codeOf(key));
        expect(code).toBe(seen.at(-1));
      }
      return seen;
    };
    for (const time of [NOON, NOON + 2 * 3_600_000, NOON, NOON - YEAR, NOON + YEAR]) {
      await turn(time);
      expect({ time, codes: await codes() }).toEqual({ time, codes: ["VALID", "VALID", "RATE_LIMITED"] });
    }
  });
});

describe("times that do not follow the clock", () => {
  test("cached keys and root keys: what was read a moment ago is good, whatever the clock says", async () => {
    const { key } = await createKey();
    expect(await codeOf(key)).toBe("VALID");
    store.behave("fails");
    for (const time of [NOON + YEAR, LAST, 0, NOON]) {
      await turn(time);
      expect({ time, code: await codeOf(key) }).toEqual({ time, code: "VALID" });
    }
    store.behave("well");
    await expect.poll(async () => (await call("apis.getApi", { apiId })).status).toBe(200);
  });

  test("deadlines: a call that waits for the store is not over because the clock was set forth", async () => {
    await turn(NOON);
    store.behave("hangs");
    const waiting = call("apis.createApi", { name: "waits" });
    await turn(NOON + YEAR);
    await turn(0);
    store.behave("well");
    expect((await waiting).status).toBe(200);
  });
});
