import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { createKeysRepository } from "../../src/features/keys/keysRepository.ts";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";
import { eventsIn } from "../support/written.ts";

const DAY = 86_400_000;
const refill = { interval: "daily", amount: 100 };

describe.each(engines)("on $name", (engine) => {
  const clock = createTestClock(Date.parse("2031-05-06T12:00:00Z"));
  let api: Api;
  let other: Api;
  /** Runs right before each write of this node. */
  let meanwhile: (() => Promise<unknown>) | undefined;
  beforeAll(async () => {
    const store = await engine.open();
    const contended = interceptStore(store, async (operation, { collection, name, operations }) => {
      // A change brings its audit event along; the mover, which writes to keys as well, takes events away.
      const isChange = name === "findOneAndUpdate" || (name === "bulkWrite" && JSON.stringify(operations).includes('"$push"'));
      if (collection === "keys" && isChange) await meanwhile?.();
      return operation();
    });
    api = await startApi(engine, { store: contended, clock });
    other = await startApi(engine, { store: await engine.openBeside(store), clock });
  });
  afterAll(async () => {
    await other.close();
    await api.close();
    await engine.close();
  });
  const data = async (procedure: string, body: object) =>
    dataOf((await api.edges[0]?.call(procedure, body, api.rootKey)) ?? expect.unreachable());
  const createKey = async (credits: object): Promise<{ keyId: string; key: string }> => {
    const { apiId } = await data("apis.createApi", { name: "contended" });
    return (await data("keys.createKey", { apiId, credits })) as { keyId: string; key: string };
  };
  /** Runs `change` with something that happens right before each of its writes. */
  const amid = async (act: () => Promise<unknown>, change: () => Promise<unknown>): Promise<void> => {
    meanwhile = act;
    await change().finally(() => {
      meanwhile = undefined;
    });
  };
  /** Runs `change` while the other node spends from the key; how many credits it spent meanwhile. */
  const contend = async (key: string, change: () => Promise<unknown>): Promise<number> => {
    let spent = 0;
    const spend = async () => {
      const verified = dataOf((await other.edges[0]?.call("keys.verifyKey", { key }, other.rootKey)) ?? expect.unreachable());
      if (verified.code === "VALID") spent++;
    };
    await amid(spend, change);
    return spent;
  };
  const balance = async (keyId: string) => ((await data("keys.getKey", { keyId })).credits as { remaining: number }).remaining;

  test("[keys §9] an increment and a decrement come through at once, although another node spends before every write", async () => {
    const { keyId, key } = await createKey({ remaining: 1000 });
    for (const [operation, value, change] of [
      ["increment", 50, 50],
      ["decrement", 30, -30],
    ] as const) {
      const before = await balance(keyId);
      let answer: unknown;
      const taken = await contend(key, async () => {
        answer = await data("keys.updateCredits", { keyId, operation, value });
      });
      expect(taken).toBe(1);
      expect(answer).toEqual({ remaining: before - 1 + change });
      expect(await balance(keyId)).toBe(before - 1 + change);
    }
  });

  test("[keys §9] set replaces the balance that is there, whatever was spent before it", async () => {
    const { keyId, key } = await createKey({ remaining: 1000, refill });
    expect(await contend(key, () => data("keys.updateCredits", { keyId, operation: "set", value: 7 }))).toBe(1);
    expect(await balance(keyId)).toBe(7);
    expect(await contend(key, () => data("keys.updateKey", { keyId, credits: { remaining: 9 } }))).toBe(1);
    expect(await balance(keyId)).toBe(9);
    expect(await contend(key, () => data("keys.updateKey", { keyId, credits: { refill: null } }))).toBe(1);
    expect(await balance(keyId)).toBe(8);
  });

  /** The changes in the last event of a key. */
  const lastTold = async (keyId: string): Promise<unknown> => {
    const events = (await eventsIn(api.store)).filter(({ resources }) => resources.some(({ id }) => id === keyId));
    return events.at(-1)?.changes?.map((text) => JSON.parse(text));
  };

  test("[management §4] a set tells the balance that it replaces, not one that was spent since, or none", async () => {
    const { keyId, key } = await createKey({ remaining: 1000 });
    const set = (value: number | null) => data("keys.updateCredits", { keyId, operation: "set", value });
    const field = "credits.remaining";
    for (const [value, before] of [
      [7, 999],
      [8, 6],
    ] as const) {
      clock.advance(1);
      dataOf((await other.edges[0]?.call("keys.verifyKey", { key }, other.rootKey)) ?? expect.unreachable());
      await set(value);
      expect(await lastTold(keyId)).toEqual([{ field, before, after: value }]);
    }
    for (const [value, told] of [
      [5, { field, after: 5 }],
      [5, { field, after: 5 }],
      [null, { field }],
    ] as const) {
      clock.advance(1);
      await contend(key, () => set(value));
      expect(await lastTold(keyId)).toEqual([told]);
    }
  });

  test("[management §4] an increment that brings a refill in tells what it adds, and the refill what that adds", async () => {
    const field = "credits.remaining";
    for (const [operation, value, told] of [
      ["increment", 7, { field, by: 7 }],
      ["decrement", 7, { field, by: -7 }],
      ["decrement", 700, { field, before: 110, after: 0 }],
    ] as const) {
      const { keyId } = await createKey({ remaining: 10, refill });
      clock.advance(DAY);
      await data("keys.updateCredits", { keyId, operation, value });
      const updates = (await eventsIn(api.store)).filter(
        ({ event, resources }) => event === "key.update" && resources.some(({ id }) => id === keyId),
      );
      const changes = updates.flatMap((event) => event.changes ?? []).map((text) => JSON.parse(text));
      expect(changes).toHaveLength(2);
      expect(changes).toEqual(expect.arrayContaining([{ field, before: 10, after: 110 }, told]));
    }
  });

  test("[keys §9] a decrement whose value is spent in between stops at 0", async () => {
    const { keyId, key } = await createKey({ remaining: 5 });
    let answer: unknown;
    await contend(key, async () => {
      answer = await data("keys.updateCredits", { keyId, operation: "decrement", value: 5 });
    });
    expect(answer).toEqual({ remaining: 0 });
    expect(await balance(keyId)).toBe(0);
  });

  test("[keys §9] an increment that only fits because of what is spent in between is judged by the balance that was read", async () => {
    const { keyId, key } = await createKey({ remaining: Number.MAX_SAFE_INTEGER - 1 });
    await contend(key, () => data("keys.updateCredits", { keyId, operation: "increment", value: 1 }));
    expect(await balance(keyId)).toBe(Number.MAX_SAFE_INTEGER - 1);
  });

  test("[keys §1.9] a refill that is due comes in once, also when the other node spends, and refills, in between", async () => {
    const { keyId, key } = await createKey({ remaining: 10, refill });
    clock.advance(DAY);
    const taken = await contend(key, () => data("keys.updateCredits", { keyId, operation: "increment", value: 1000 }));
    expect(await balance(keyId)).toBe(10 + 100 + 1000 - taken);
    clock.advance(DAY);
    const more = await contend(key, () => data("keys.verifyKey", { key, credits: { cost: 500 } }));
    expect(await balance(keyId)).toBe(1110 - taken + 100 - 500 - more);
  });

  test("[keys §1.9] credits spent by a node that has not seen a refill yet are not given back by the refill", async () => {
    for (const [procedure, fields, effect] of [
      ["keys.updateCredits", { operation: "increment", value: 1000 }, 1000],
      ["keys.updateCredits", { operation: "decrement", value: 1 }, -1],
      ["keys.updateKey", { credits: { refill: null } }, 0],
      ["keys.verifyKey", { credits: { cost: 1 } }, -1],
    ] as const) {
      const { keyId, key } = await createKey({ remaining: 10, refill });
      clock.advance(DAY);
      const taken: unknown[] = [];
      const keys = createKeysRepository(other.store);
      await amid(
        async () => taken.length < 3 && taken.push(await keys.spend(keyId, 1)),
        () => data(procedure, { ...(procedure === "keys.verifyKey" ? { key } : { keyId }), ...fields }),
      );
      const written = await api.store.collection("keys").findOne({ _id: keyId });
      expect(written?.remaining).toBe(10 + 100 + effect - taken.length);
    }
  });
});
