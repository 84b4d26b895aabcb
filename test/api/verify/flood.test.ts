// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { request } from "../../support/envelope.ts";
import { engines } from "../../support/stores.ts";
import { createTestClock } from "../../support/testClock.ts";

/** More than the budget of a second. */
const FLOOD = 1_200;
const CALLERS = 100;

describe.each(engines)("[verify §12] a flood of unknown keys on $name", (engine) => {
  let api: Api;
  /** Look-ups of keys at the same time: now, and the most since it was reset. */
  const lookUps = { now: 0, most: 0 };

  beforeAll(async () => {
    const store = interceptStore(await engine.open(), async (operation, { collection, name }) => {
      if (collection !== "keys" || name !== "findOne") return operation();
      lookUps.most = Math.max(lookUps.most, ++lookUps.now);
      try {
        await new Promise((resolve) => setImmediate(resolve));
        return await operation();
      } finally {
        lookUps.now--;
      }
    });
    // Its second never ends, however slow the machine is.
    api = await startApi(engine, { store, clock: createTestClock() });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const verify = async (rootKey: string, key: string): Promise<unknown> =>
    (dataOf(await request(api.url, "keys.verifyKey", { rootKey, body: { key } })) as { code: string }).code;

  const flood = async (rootKey: string, name: string): Promise<void> => {
    let next = 0;
    const caller = async (): Promise<void> => {
      while (next < FLOOD) expect(await verify(rootKey, `${name}_${next++}`)).toBe("NOT_FOUND");
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
  };

  test("is looked up one key after the other once its caller has spent its budget, and no answer changes", async () => {
    const flooding = await api.createRootKey();
    const { apiId } = dataOf(await request(api.url, "apis.createApi", { rootKey: api.rootKey, body: { name: "payments" } })) as {
      apiId: string;
    };
    const keys = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const created = await request(api.url, "keys.createKey", { rootKey: api.rootKey, body: { apiId } });
        return (dataOf(created) as { key: string }).key;
      }),
    );
    const flooded = flood(flooding, "first");
    // Existing keys of the flooding caller and of another one are found during the flood.
    for (const [i, key] of keys.entries()) expect(await verify(i % 2 === 0 ? flooding : api.rootKey, key)).toBe("VALID");
    await flooded;
    lookUps.most = 0;
    await Promise.all(Array.from({ length: 50 }, (_, i) => verify(flooding, `after_${i}`)));
    expect(lookUps.most).toBe(1);
    lookUps.most = 0;
    await Promise.all(Array.from({ length: 50 }, (_, i) => verify(api.rootKey, `other_${i}`)));
    expect(lookUps.most).toBeGreaterThan(1);
  });
});
