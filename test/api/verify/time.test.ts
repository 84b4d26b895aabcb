// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "../../../bench/harness/v2Edge.ts";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { engines } from "../../support/stores.ts";
import { createTestClock, type TestClock } from "../../support/testClock.ts";

/** Start of a window of 30 days, and so of every shorter one here; in the future, so that no server removes it as expired. */
const START = 1_000 * 2_592_000_000;
const MINUTE = 60_000;

describe.each(engines)("on $name", (engine) => {
  let api: Api;
  let clock: TestClock;
  beforeAll(async () => {
    clock = createTestClock(START);
    api = await startApi(engine, { clock });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const call = (procedure: string, body: unknown, rootKey: string = api.rootKey): Promise<Answer> => {
    const [edge] = api.edges;
    if (!edge) throw new Error("there is no edge");
    return edge.call(procedure, body, rootKey);
  };
  const createKey = async (fields: object): Promise<string> => {
    const { apiId } = dataOf(await call("apis.createApi", { name: "time" }));
    return dataOf(await call("keys.createKey", { apiId, ...fields })).key as string;
  };
  const moveTo = (time: number): void => clock.advance(time - clock.now());
  const nextMinute = (): number => (Math.floor(clock.now() / MINUTE) + 1) * MINUTE;

  test("[verify §6] a key is valid at the very moment of its expiry, and EXPIRED a millisecond later", async () => {
    const expires = clock.now() + 10;
    const key = await createKey({ expires });
    const code = async () => dataOf(await call("keys.verifyKey", { key })).code;
    expect(await code()).toBe("VALID");
    moveTo(expires);
    expect(await code()).toBe("VALID");
    clock.advance(1);
    expect(await code()).toBe("EXPIRED");
  });

  test("[protocol §7] a root key's expiry is judged with each request, also when it is cached", async () => {
    const key = await createKey({});
    const expires = clock.now() + 10;
    const rootKey = await api.createRootKey({ expires });
    moveTo(expires);
    expect(dataOf(await call("keys.verifyKey", { key }, rootKey)).code).toBe("VALID");
    clock.advance(1);
    expectError(await call("keys.verifyKey", { key }, rootKey), 401, "unkey/authentication/key_expired");
  });

  test("[ratelimit §3] the worked values: current and previous count, elapsed fraction, cost, limit", async () => {
    const rows = [
      { cur: 0, prev: 0, e: 0, cost: 1, pass: true, remaining: 9 },
      { cur: 9, prev: 0, e: 0, cost: 1, pass: true, remaining: 0 },
      { cur: 10, prev: 0, e: 0, cost: 0, pass: true, remaining: 0 },
      { cur: 10, prev: 0, e: 0, cost: 1, pass: false, remaining: 0 },
      { cur: 5, prev: 10, e: 0.5, cost: 1, pass: false, remaining: 0 },
      { cur: 5, prev: 10, e: 0.99, cost: 1, pass: true, remaining: 4 },
      { cur: 0, prev: 0, e: 0, cost: 100, pass: false, remaining: 0 },
    ];
    for (const [i, { cur, prev, e, cost, pass, remaining }] of rows.entries()) {
      const check = async (wanted: { cost: number; limit: number }) =>
        dataOf(await call("ratelimit.limit", { namespace: "worked", identifier: `row ${i}`, duration: MINUTE, ...wanted }));
      const start = nextMinute() + MINUTE;
      moveTo(start - MINUTE);
      if (prev > 0) await check({ cost: prev, limit: 1_000 });
      moveTo(start);
      if (cur > 0) await check({ cost: cur, limit: 1_000 });
      moveTo(start + e * MINUTE);
      expect(await check({ cost, limit: 10 }), `row ${i}`).toEqual({ success: pass, limit: 10, remaining, reset: start + MINUTE });
    }
  });

  test("[verify §5] the limits of a verification slide like those of ratelimit.limit", async () => {
    const key = await createKey({ ratelimits: [{ name: "requests", limit: 10, duration: MINUTE, autoApply: true }] });
    const verify = async (cost: number) => {
      const { code, ratelimits } = dataOf(await call("keys.verifyKey", { key, ratelimits: [{ name: "requests", cost }] }));
      return { code, ...(ratelimits as [{ remaining: number; reset: number }])[0] };
    };
    const start = nextMinute();
    moveTo(start);
    expect(await verify(10)).toMatchObject({ code: "VALID", remaining: 0, reset: start + MINUTE });
    expect(await verify(1)).toMatchObject({ code: "RATE_LIMITED", remaining: 0, reset: start + MINUTE });
    moveTo(start + MINUTE);
    expect(await verify(1)).toMatchObject({ code: "RATE_LIMITED", reset: start + 2 * MINUTE });
    // trunc(10 × (1 − 0.25)) = 7 of the previous window still weigh.
    moveTo(start + 1.25 * MINUTE);
    expect(await verify(3)).toMatchObject({ code: "VALID", remaining: 0 });
    expect(await verify(1)).toMatchObject({ code: "RATE_LIMITED" });
    moveTo(start + 3 * MINUTE);
    expect(await verify(0)).toMatchObject({ code: "VALID", remaining: 10 });
  });

  test("[ratelimit §3] reset lies after now and within one duration, in a denial, too", async () => {
    for (const duration of [1_000, 86_400_000, 2_592_000_000]) {
      for (const offset of [0, 1, 499, 999]) {
        moveTo((Math.floor(clock.now() / 1_000) + 1) * 1_000 + offset);
        for (const limit of [1, 1]) {
          const body = { namespace: "reset", identifier: `${duration}`, limit, duration };
          const { reset } = dataOf(await call("ratelimit.limit", body)) as { reset: number };
          expect(reset).toBeGreaterThan(clock.now());
          expect(reset).toBeLessThanOrEqual(clock.now() + duration);
          expect(reset % duration).toBe(0);
        }
      }
    }
  });
});
