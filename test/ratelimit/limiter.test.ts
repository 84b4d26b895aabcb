import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { simulatedCounters } from "../../bench/limiterRuns/simulation.ts";
import { weightedPrevious, windowAt } from "../../src/domain/slidingWindow.ts";
import type { Check } from "../../src/ratelimit/check.ts";
import type { StoreDownPolicy } from "../../src/ratelimit/claimQueue.ts";
import { createLimiter, type Decision, type Limiter } from "../../src/ratelimit/limiter.ts";
import type { Counters } from "../../src/storage/port/counters.ts";
import { StoreUnavailableError } from "../../src/storage/port/errors.ts";
import type { Store } from "../../src/storage/port/store.ts";
import { engines } from "../support/stores.ts";
import { createTestClock, type TestClock } from "../support/testClock.ts";

const D = 10_000;
/** Far enough that MongoDB, which removes expired counters once a minute, takes none of these for one; windows of D begin here. */
const FUTURE = 1_925_000_000_000;

describe.each(engines)("on $name", (engine) => {
  let store: Store;
  let counters: Counters;
  let keys = 0;
  beforeAll(async () => {
    store = await engine.open();
    counters = store.counters;
  });
  afterAll(() => engine.close());

  const freshKey = (): string => `test:${keys++}`;
  const node = (clock: TestClock, storeDown: StoreDownPolicy = "allow", repository = counters): Limiter =>
    createLimiter({ clock, counters: repository, storeDown });
  const check = async (limiter: Limiter, clock: TestClock, key: string, limit: number, cost = 1, duration = D): Promise<Decision> =>
    limiter.check([{ key, limit, duration, cost }], clock.now());
  const one = async (...args: Parameters<typeof check>) => {
    const { results } = await check(...args);
    return results[0];
  };

  test("[ratelimit §3] of 50 parallel calls on a fresh counter exactly 10 pass, with distinct remaining values", async () => {
    for (let round = 0; round < 10; round++) {
      const clock = createTestClock(FUTURE);
      const limiter = node(clock);
      const key = freshKey();
      const results = await Promise.all(Array.from({ length: 50 }, () => one(limiter, clock, key, 10)));
      const passed = results.filter((result) => result?.passed);
      expect(passed.map((result) => result?.remaining).sort((a, b) => Number(a) - Number(b))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(results.filter((result) => !result?.passed).every((result) => result?.remaining === 0)).toBe(true);
      await limiter.stop();
    }
  });

  test("[ratelimit §3] of 300 parallel calls on a limit of 200 exactly 200 pass although budget is charged in chunks", async () => {
    const clock = createTestClock(FUTURE);
    const limiter = node(clock);
    const key = freshKey();
    const results = await Promise.all(Array.from({ length: 300 }, () => one(limiter, clock, key, 200)));
    expect(results.filter((result) => result?.passed).length).toBe(200);
    expect(new Set(results.filter((result) => result?.passed).map((result) => result?.remaining)).size).toBe(200);
  });

  test("[ratelimit §3] reset is the end of the current window, in both cases", async () => {
    const clock = createTestClock(FUTURE + 12_345_678);
    const limiter = node(clock);
    const key = freshKey();
    expect((await one(limiter, clock, key, 1))?.reset).toBe(FUTURE + 12_350_000);
    expect((await one(limiter, clock, key, 1))?.reset).toBe(FUTURE + 12_350_000);
  });

  test("[ratelimit §3] a denied call takes nothing, and a smaller cost right after it can pass", async () => {
    const clock = createTestClock(FUTURE);
    const limiter = node(clock);
    const key = freshKey();
    expect(await one(limiter, clock, key, 10, 8)).toMatchObject({ passed: true, remaining: 2 });
    expect(await one(limiter, clock, key, 10, 3)).toMatchObject({ passed: false, remaining: 0 });
    expect(await one(limiter, clock, key, 10, 2)).toMatchObject({ passed: true, remaining: 0 });
  });

  test("[ratelimit §3] cost 0 looks, consumes nothing and passes at exactly the limit", async () => {
    const clock = createTestClock(FUTURE);
    const limiter = node(clock);
    const key = freshKey();
    expect(await one(limiter, clock, key, 10, 0)).toMatchObject({ passed: true, remaining: 10 });
    await one(limiter, clock, key, 10, 10);
    expect(await one(limiter, clock, key, 10, 0)).toMatchObject({ passed: true, remaining: 0 });
    expect(await one(limiter, clock, key, 9, 0)).toMatchObject({ passed: false, remaining: 0 });
  });

  test("[ratelimit §3] a cost above the limit never passes, however large", async () => {
    const clock = createTestClock(FUTURE);
    const limiter = node(clock);
    const key = freshKey();
    expect(await one(limiter, clock, key, 10, Number.MAX_SAFE_INTEGER)).toMatchObject({ passed: false });
    expect(await one(limiter, clock, key, 10, 11)).toMatchObject({ passed: false });
    expect(await one(limiter, clock, key, 10, 10)).toMatchObject({ passed: true });
  });

  test("[ratelimit §3] raising the limit keeps the count, lowering it denies until it decays", async () => {
    const clock = createTestClock(FUTURE);
    const limiter = node(clock);
    const key = freshKey();
    await one(limiter, clock, key, 10, 10);
    expect(await one(limiter, clock, key, 10)).toMatchObject({ passed: false });
    expect(await one(limiter, clock, key, 15)).toMatchObject({ passed: true, remaining: 4 });
    expect(await one(limiter, clock, key, 5)).toMatchObject({ passed: false });
  });

  test("[ratelimit §3] a lowered limit binds also while budget of the higher one is held", async () => {
    const clock = createTestClock(FUTURE);
    const limiter = node(clock);
    const key = freshKey();
    for (let i = 0; i < 50; i++) await one(limiter, clock, key, 10_000);
    expect(await one(limiter, clock, key, 50)).toMatchObject({ passed: false });
    expect(await one(limiter, clock, key, 51)).toMatchObject({ passed: true, remaining: 0 });
  });

  test("[ratelimit §3] every decision of a long run equals the formula of two fixed windows", async () => {
    const clock = createTestClock(FUTURE + 5 * D);
    const limiter = node(clock);
    const key = freshKey();
    const counts = new Map<number, number>();
    let random = 7;
    for (let i = 0; i < 400; i++) {
      random = (random * 48_271) % 2_147_483_647;
      clock.advance(random % 150);
      const cost = 1 + (random % 4);
      const limit = 100;
      const seq = windowAt(clock.now(), D);
      const used = (counts.get(seq) ?? 0) + weightedPrevious(counts.get(seq - 1) ?? 0, clock.now(), D);
      const expected = used + cost <= limit;
      expect(await one(limiter, clock, key, limit, cost)).toEqual({
        passed: expected,
        remaining: expected ? limit - used - cost : 0,
        reset: (seq + 1) * D,
      });
      if (expected) counts.set(seq, (counts.get(seq) ?? 0) + cost);
    }
  });

  test("[ratelimit §12] another node sees what was spent, cost 0 included", async () => {
    const clock = createTestClock(FUTURE);
    const [a, b] = [node(clock), node(clock)];
    const key = freshKey();
    for (let i = 0; i < 7; i++) await one(a, clock, key, 10);
    expect(await one(b, clock, key, 10, 0)).toMatchObject({ passed: true, remaining: 3 });
    for (let i = 0; i < 3; i++) expect(await one(b, clock, key, 10)).toMatchObject({ passed: true });
    expect(await one(b, clock, key, 10)).toMatchObject({ passed: false });
    expect(await one(a, clock, key, 10)).toMatchObject({ passed: false });
  });

  test("[design §4] three nodes in parallel never admit more than the limit together", async () => {
    const clock = createTestClock(FUTURE);
    const nodes = [node(clock), node(clock), node(clock)];
    const key = freshKey();
    const results = await Promise.all(nodes.flatMap((limiter) => Array.from({ length: 100 }, () => one(limiter, clock, key, 150))));
    const passed = results.filter((result) => result?.passed).length;
    expect(passed).toBeLessThanOrEqual(150);
    expect(passed).toBeGreaterThanOrEqual(142);
  });

  test("[design §4] budget left at shutdown is given back once", async () => {
    const clock = createTestClock(FUTURE);
    const [a, b] = [node(clock), node(clock)];
    const key = freshKey();
    for (let i = 0; i < 30; i++) await one(a, clock, key, 1_000);
    await a.stop();
    expect(await one(b, clock, key, 1_000, 0)).toMatchObject({ remaining: 970 });
    await a.stop();
    expect(await one(b, clock, key, 1_000, 0)).toMatchObject({ remaining: 970 });
  });

  test("[design §4] counters survive a restart", async () => {
    const clock = createTestClock(FUTURE);
    const key = freshKey();
    await one(node(clock), clock, key, 10, 10);
    expect(await one(node(clock), clock, key, 10)).toMatchObject({ passed: false });
  });

  test("[verify §5] of several limits all are charged or none", async () => {
    const clock = createTestClock(FUTURE);
    const limiter = node(clock);
    const [wide, narrow] = [freshKey(), freshKey()];
    const both: Check[] = [
      { key: wide, limit: 10, duration: D, cost: 1 },
      { key: narrow, limit: 2, duration: D, cost: 1 },
    ];
    expect(await limiter.check(both, clock.now())).toMatchObject({ passed: true, results: [{ remaining: 9 }, { remaining: 1 }] });
    expect(await limiter.check(both, clock.now())).toMatchObject({ passed: true, results: [{ remaining: 8 }, { remaining: 0 }] });
    expect(await limiter.check(both, clock.now())).toMatchObject({
      passed: false,
      results: [
        { passed: true, remaining: 8 },
        { passed: false, remaining: 0 },
      ],
    });
    expect(await one(limiter, clock, wide, 10, 0)).toMatchObject({ remaining: 8 });
  });

  test("[verify §11] of parallel calls with two limits exactly as many pass as the narrower one allows", async () => {
    const clock = createTestClock(FUTURE);
    const limiter = node(clock);
    const [wide, narrow] = [freshKey(), freshKey()];
    const decisions = await Promise.all(
      Array.from({ length: 40 }, async () =>
        limiter.check(
          [
            { key: wide, limit: 30, duration: D, cost: 1 },
            { key: narrow, limit: 12, duration: D, cost: 1 },
          ],
          clock.now(),
        ),
      ),
    );
    expect(decisions.filter(({ passed }) => passed).length).toBe(12);
    expect(await one(limiter, clock, wide, 30, 0)).toMatchObject({ remaining: 18 });
  });

  const away: Counters = {
    isShared: true,
    read: () => Promise.reject(new StoreUnavailableError("away")),
    charge: () => Promise.reject(new StoreUnavailableError("away")),
    refund: () => Promise.reject(new StoreUnavailableError("away")),
  };

  test("[design §4] a counter that a node forgot, and that was counted long ago, is charged by one operation", async () => {
    const clock = createTestClock(FUTURE);
    const key = freshKey();
    await one(node(clock), clock, key, 10);
    clock.advance(5 * D);
    const asked: string[] = [];
    const watched: Counters = {
      ...counters,
      read: (...args) => {
        asked.push("read");
        return counters.read(...args);
      },
      charge: (...args) => {
        asked.push("charge");
        return counters.charge(...args);
      },
    };
    expect(await one(node(clock, "allow", watched), clock, key, 10)).toMatchObject({ passed: true, remaining: 9 });
    expect(asked).toEqual(["charge"]);
  });

  test("[design §4] with the store away, allow admits at most one further limit per window and deny none", async () => {
    const clock = createTestClock(FUTURE);
    const key = freshKey();
    const allowing = node(clock, "allow", away);
    const results = await Promise.all(Array.from({ length: 30 }, () => one(allowing, clock, key, 10)));
    expect(results.filter((result) => result?.passed).length).toBe(10);
    const denying = node(clock, "deny", away);
    expect(await one(denying, clock, key, 10)).toMatchObject({ passed: false, remaining: 0 });
  });
});

describe("[design §4] a counter that is asked ten times a second for a minute", () => {
  const CALLS = 600;
  const ask = async (isShared: boolean, limit: number, seen: (left: number, ahead: number) => void = () => undefined) => {
    const clock = createTestClock(0);
    const counters = simulatedCounters({ latency: () => 0, isShared });
    const limiter = createLimiter({ clock, counters, storeDown: "deny" });
    let passed = 0;
    for (let call = 0; call < CALLS; call++) {
      const before = counters.peek("k")?.current ?? 0;
      passed += Number((await limiter.check([{ key: "k", limit, duration: 600_000, cost: 1 }], clock.now())).passed);
      const current = counters.peek("k")?.current ?? 0;
      if (current > before) seen(limit - passed + 1, current - passed + 1);
      clock.advance(100);
    }
    return { passed, operations: counters.operations() };
  };

  test("is charged two to seven times a second where nodes share it", async () => {
    const { passed, operations } = await ask(true, 1_000_000);
    expect(passed).toBe(CALLS);
    expect(operations).toBeGreaterThan(CALLS * 0.2);
    expect(operations).toBeLessThan(CALLS * 0.7);
  });

  test("is charged every few seconds where there is one node", async () => {
    const { passed, operations } = await ask(false, 1_000_000);
    expect(passed).toBe(CALLS);
    expect(operations).toBeLessThan(30);
  });

  test.each([{ isShared: true }, { isShared: false }])(
    "is charged at most a twentieth of what it has left, down to the last, and admits its limit exactly; shared: $isShared",
    async ({ isShared }) => {
      let charges = 0;
      const { passed } = await ask(isShared, 400, (left, charged) => {
        charges++;
        expect(charged).toBeLessThanOrEqual(Math.max(1, left / 20));
      });
      expect(passed).toBe(400);
      expect(charges).toBeGreaterThan(20);
    },
  );
});
