import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { type Api, dataOf, expectError, startApi } from "../support/api.ts";
import { type FaultyStore, faultyStore } from "../support/faultyStore.ts";
import { engines } from "../support/stores.ts";
import { createShiftedClock, type ShiftedClock } from "./shiftedClock.ts";

/** Twice the time between two polls of the feed. */
const HEARD_WITHIN = 500;

describe.each(engines)("VERIFY_STORE_DOWN on $name", (engine) => {
  let api: Api;
  let store: FaultyStore;
  let clock: ShiftedClock;
  afterEach(async () => {
    store.behave("well");
    await api.close();
  });
  afterAll(() => engine.close());

  const call = (procedure: string, body: object) => {
    const [edge] = api.edges;
    if (!edge) throw new Error("there is no edge");
    return edge.call(procedure, body, api.rootKey);
  };
  /** A node that remembers a key, has heard the feed, and then loses its store. */
  const losingIts = async (setting: string): Promise<string> => {
    clock = createShiftedClock();
    store = faultyStore(await engine.open());
    api = await startApi(engine, { clock, store, env: { VERIFY_STORE_DOWN: setting } });
    const { apiId } = dataOf(await call("apis.createApi", { name: "staleness" }));
    const { key } = dataOf(await call("keys.createKey", { apiId })) as { key: string };
    dataOf(await call("keys.verifyKey", { key }));
    await sleep(HEARD_WITHIN);
    store.behave("fails");
    return key;
  };

  test("deny: a node that has no contact for a second answers 503", async () => {
    const key = await losingIts("deny");
    clock.shift(1_000);
    expectError(await call("keys.verifyKey", { key }), 503, "unkey/application/service_unavailable");
    store.behave("well");
    await expect.poll(async () => (await call("keys.verifyKey", { key })).status).toBe(200);
  });

  test("stale:90: remembered values answer for 90 s, and say so, then it is 503", async () => {
    const key = await losingIts("stale:90");
    clock.shift(85_000);
    const answer = await call("keys.verifyKey", { key });
    expect(dataOf(answer).code).toBe("VALID");
    expect(answer.body.meta.degraded).toEqual(["verification"]);
    clock.shift(5_000);
    expectError(await call("keys.verifyKey", { key }), 503, "unkey/application/service_unavailable");
  });
});
