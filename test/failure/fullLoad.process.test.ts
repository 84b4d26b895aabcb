// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ServiceProcess } from "../../bench/harness/latchkeyProcess.ts";
import { createRootKeyOn, startServiceOn } from "../../bench/harness/placed.ts";
import { type Edge, v2Edge } from "../../bench/harness/v2Edge.ts";
import { dataOf } from "../support/api.ts";
import { places } from "../support/places.ts";

/** Callers that verify without pause. */
const CALLERS = 64;
const ROUNDS = 10;
const MONTH = 2_592_000_000;

/** A service in a process of its own. */
describe.each(places)("a service that others call without pause, on $name", { timeout: 120_000 }, (place) => {
  let env: Record<string, string>;
  let service: ServiceProcess;
  let edge: Edge;
  let rootKey: string;
  let apiId: string;
  let over = false;
  let answered = 0;
  let load: Promise<unknown> | undefined;

  const data = async <T>(procedure: string, body: object): Promise<T> => dataOf(await edge.call(procedure, body, rootKey)) as T;
  /** Runs a step, and sees to it that there was load meanwhile. */
  const loaded = async (step: () => Promise<void>): Promise<void> => {
    const before = answered;
    await step();
    expect(answered).toBeGreaterThan(before);
  };
  const parallel = <T>(count: number, call: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: count }, call));

  beforeAll(async () => {
    env = await place.open();
    service = await startServiceOn(env);
    edge = v2Edge(service.url);
    rootKey = await createRootKeyOn(env);
    apiId = (await data<{ apiId: string }>("apis.createApi", { name: "loaded" })).apiId;
    const { key } = await data<{ key: string }>("keys.createKey", {
      apiId,
      permissions: ["documents.read"],
      ratelimits: [{ name: "requests", limit: 1_000_000_000, duration: 60_000, autoApply: true }],
    });
    load = parallel(CALLERS, async () => {
      for (; !over; answered++) {
        const { code } = await data<{ code: string }>("keys.verifyKey", { key, permissions: "documents.read" });
        if (code !== "VALID") throw new Error(`a call of the load is ${code}`);
      }
    });
    load.catch(() => undefined);
  });
  afterAll(async () => {
    over = true;
    // Its failure is the last test's to tell.
    await load?.catch(() => undefined);
    await service?.[Symbol.asyncDispose]();
    await place.close(env);
  });

  test("[verify §11] exactly 20 of 50 parallel verifications of a key with 20 credits are VALID, with the balances 19 to 0", async () => {
    for (let round = 0; round < ROUNDS; round++)
      await loaded(async () => {
        const { key, keyId } = await data<{ key: string; keyId: string }>("keys.createKey", { apiId, credits: { remaining: 20 } });
        const verified = await parallel(50, () => data<{ code: string; credits: number }>("keys.verifyKey", { key }));
        const paid = verified.filter(({ code }) => code === "VALID").map(({ credits }) => credits);
        expect(paid.sort((a, b) => b - a)).toEqual(Array.from({ length: 20 }, (_, i) => 19 - i));
        expect(verified.filter(({ code }) => code === "USAGE_EXCEEDED")).toHaveLength(30);
        expect(await data("keys.getKey", { keyId })).toMatchObject({ credits: { remaining: 0 } });
      });
  });

  test("[ratelimit §3] exactly 10 of 50 parallel checks pass a limit of 10, and exactly 120 of 150 a limit of 120", async () => {
    for (let round = 0; round < ROUNDS; round++)
      await loaded(async () => {
        for (const [calls, limit] of [
          [50, 10],
          [150, 120],
        ] as const) {
          const check = { namespace: "loaded", identifier: `user_${limit}_${round}`, limit, duration: MONTH };
          const checked = await parallel(calls, () => data<{ success: boolean; remaining: number }>("ratelimit.limit", check));
          const left = checked.filter(({ success }) => success).map(({ remaining }) => remaining);
          expect(left.sort((a, b) => b - a)).toEqual(Array.from({ length: limit }, (_, i) => limit - 1 - i));
        }
      });
  });

  test("none of the calls without pause failed", async () => {
    over = true;
    await load;
    expect(answered).toBeGreaterThan(ROUNDS * CALLERS);
  });
});
