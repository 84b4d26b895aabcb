import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Fate, type SimulatedCounters, simulatedCounters, simulatedDocumentCounters } from "../../bench/limiterRuns/simulation.ts";
import { type Clock, systemClock } from "../../src/domain/clock.ts";
import type { Check } from "../../src/ratelimit/check.ts";
import type { StoreDownPolicy } from "../../src/ratelimit/claimQueue.ts";
import { createLimiter, type Decision, type Limiter } from "../../src/ratelimit/limiter.ts";

const MONTH = 2_592_000_000;
const START = 675 * MONTH;
const D = 60_000;

describe.each([
  { counted: "by a store that decides each charge", simulate: simulatedCounters },
  { counted: "in documents", simulate: simulatedDocumentCounters },
])("counted $counted", ({ simulate }) => {
  let fate: Fate;
  let latency: number;
  let counters: SimulatedCounters;

  beforeEach(() => {
    vi.useFakeTimers({ now: START });
    fate = "works";
    latency = 1;
    counters = simulate({ latency: () => latency, fate: () => fate });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const node = (storeDown: StoreDownPolicy = "allow", clock: Clock = systemClock): Limiter => createLimiter({ clock, counters, storeDown });
  const limitOf = (key: string, limit: number, cost = 1, duration = D): Check => ({ key, limit, duration, cost });

  /** Lets time pass until the work is done, in steps of the latency. */
  const finish = async <T>(work: T | Promise<T>): Promise<T> => {
    let done = false;
    const finished = (async () => work)().finally(() => {
      done = true;
    });
    do await vi.advanceTimersByTimeAsync(latency);
    while (!done);
    return finished;
  };
  const ask = (limiter: Limiter, ...checks: readonly Check[]): Promise<Decision> => finish(limiter.check(checks, Date.now()));
  const passes = async (...asked: Parameters<typeof ask>): Promise<boolean> => (await ask(...asked)).passed;

  describe("window edges", () => {
    test("[ratelimit §3] a limit of 1 passes once, is denied at the very start of the next window, and passes again right after it", async () => {
      const limiter = node();
      latency = 0;
      vi.setSystemTime(START + D - 10);
      expect(await passes(limiter, limitOf("a", 1))).toBe(true);
      expect(await passes(limiter, limitOf("a", 1))).toBe(false);
      // e = 0: the previous window still weighs all of its 1.
      vi.setSystemTime(START + D);
      expect(await ask(limiter, limitOf("a", 1, 0))).toMatchObject({ passed: true, results: [{ remaining: 0 }] });
      expect(await passes(limiter, limitOf("a", 1))).toBe(false);
      vi.setSystemTime(START + D + 1);
      expect(await passes(limiter, limitOf("a", 1))).toBe(true);
    });

    test("[ratelimit §3] the last millisecond of a window counts for it, the first of the next one for that", async () => {
      const limiter = node();
      latency = 0;
      vi.setSystemTime(START + D - 1);
      expect((await ask(limiter, limitOf("a", 10))).results[0]?.reset).toBe(START + D);
      vi.setSystemTime(START + D);
      expect((await ask(limiter, limitOf("a", 10))).results[0]?.reset).toBe(START + 2 * D);
    });

    test("[ratelimit §6] a window of 30 days counts to its end, and weighs on the next one", async () => {
      const limiter = node();
      latency = 0;
      vi.setSystemTime(START + MONTH / 2);
      expect(await passes(limiter, limitOf("a", 100, 100, MONTH))).toBe(true);
      vi.setSystemTime(START + MONTH - 60_000);
      expect(await passes(limiter, limitOf("a", 100, 1, MONTH))).toBe(false);
      vi.setSystemTime(START + MONTH + MONTH / 2);
      expect(await ask(limiter, limitOf("a", 100, 0, MONTH))).toMatchObject({ results: [{ remaining: 50, reset: START + 2 * MONTH }] });
      vi.setSystemTime(START + 2 * MONTH);
      expect(await ask(limiter, limitOf("a", 100, 0, MONTH))).toMatchObject({ results: [{ remaining: 100 }] });
    });

    test("[verify §2] the longest window there is, longer than any date, is counted like others", async () => {
      const limiter = node();
      const longest = Number.MAX_SAFE_INTEGER;
      expect(await ask(limiter, limitOf("a", 2, 1, longest))).toMatchObject({ passed: true, results: [{ remaining: 1, reset: longest }] });
      expect(await passes(limiter, limitOf("a", 2, 1, longest))).toBe(true);
      expect(await passes(limiter, limitOf("a", 2, 1, longest))).toBe(false);
    });

    test("[ratelimit §3] the largest limit and cost are counted exactly", async () => {
      const limiter = node();
      const most = Number.MAX_SAFE_INTEGER;
      expect(await ask(limiter, limitOf("a", most, most - 1))).toMatchObject({ passed: true, results: [{ remaining: 1 }] });
      expect(await passes(limiter, limitOf("a", most, most))).toBe(false);
      expect(await passes(limiter, limitOf("a", most, 2))).toBe(false);
      expect(await ask(limiter, limitOf("a", most, 1))).toMatchObject({ passed: true, results: [{ remaining: 0 }] });
    });

    test("[verify §6] what a refused call had reserved goes back to the window that it was of", async () => {
      const limiter = node();
      for (let i = 0; i < 30; i++) await ask(limiter, limitOf("wide", 1_000));
      await ask(limiter, limitOf("narrow", 1, 1, 10 * D));
      // The narrow limit's store takes so long that the wide limit's window ends meanwhile.
      latency = D;
      const refused = limiter.check([limitOf("wide", 1_000), limitOf("narrow", 1, 1, 10 * D)], Date.now());
      await vi.advanceTimersByTimeAsync(D);
      latency = 1;
      await ask(limiter, limitOf("wide", 1_000, 0));
      await vi.advanceTimersByTimeAsync(10 * D);
      expect(await refused).toMatchObject({ passed: false });
      await finish(limiter.stop());
      expect(counters.peek("wide")).toMatchObject({ seq: START / D, current: 30 });
    });
  });

  describe("a clock that is set back", () => {
    test("[ratelimit §3] by an hour does not stop a counter for an hour, nor gives it a fresh limit", async () => {
      const limiter = node();
      for (const each of [limiter, node()]) {
        vi.setSystemTime(START + 3_600_000);
        while (await passes(each, limitOf("a", 5)));
        vi.setSystemTime(START);
        expect(await passes(each, limitOf("a", 5))).toBe(false);
        await vi.advanceTimersByTimeAsync(2_000);
        expect(await passes(each, limitOf("a", 5))).toBe(false);
        await vi.advanceTimersByTimeAsync(2 * D);
        expect(await passes(each, limitOf("a", 5))).toBe(true);
      }
    });

    test("[design §4] budget held in the later time is given back, not spent twice", async () => {
      const limiter = node();
      vi.setSystemTime(START + 3_600_000);
      for (let i = 0; i < 50; i++) await ask(limiter, limitOf("a", 1_000));
      vi.setSystemTime(START);
      await ask(limiter, limitOf("a", 900));
      await finish(limiter.stop());
      expect(counters.peek("a")).toMatchObject({ seq: START / D, current: 51 });
    });

    test("[ratelimit §12] by a little, as clocks of nodes differ, keeps the window that was reached", async () => {
      const limiter = node();
      vi.setSystemTime(START + D + 100);
      for (let i = 0; i < 5; i++) await ask(limiter, limitOf("a", 5));
      vi.setSystemTime(START + D - 400);
      expect(await passes(limiter, limitOf("a", 5))).toBe(false);
      expect(counters.peek("a")).toMatchObject({ seq: START / D + 1, current: 5 });
    });
  });

  describe("several limits", () => {
    const wide = limitOf("wide", 20);
    const narrow = limitOf("narrow", 2);

    test("[verify §11] a node whose calls are refused by one limit does not keep the budget of another from other nodes", async () => {
      const [a, b] = [node(), node()];
      a.start();
      b.start();
      await Promise.all([ask(a, wide, narrow), ask(a, wide, narrow), ask(a, wide, narrow), ask(a, wide, narrow)]);
      const flood = (async () => {
        for (let i = 0; i < 100; i++) {
          await a.check([wide, narrow], Date.now());
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      })();
      await vi.advanceTimersByTimeAsync(5_000);
      let passed = 0;
      for (let i = 0; i < 30; i++) if (await passes(b, wide)) passed++;
      // One token may be on its way between the other node and the store.
      expect(passed).toBeGreaterThanOrEqual(17);
      expect(passed).toBeLessThanOrEqual(18);
      await vi.advanceTimersByTimeAsync(20_000);
      await flood;
      await finish(Promise.all([a.stop(), b.stop()]));
    });

    test("[design §4] calls that are refused from memory ask the store for nothing", async () => {
      const limiter = node();
      for (let i = 0; i < 3; i++) await ask(limiter, wide, narrow);
      const before = counters.operations();
      for (let i = 0; i < 100; i++) {
        const decision = limiter.check([wide, narrow], Date.now());
        expect(decision).toMatchObject({
          passed: false,
          results: [
            { passed: true, remaining: 18 },
            { passed: false, remaining: 0 },
          ],
        });
      }
      expect(counters.operations()).toBe(before);
    });

    test("[verify §5] a call that one limit refuses tells of each limit whether it would have passed by itself", async () => {
      const limiter = node();
      await ask(limiter, limitOf("full", 3, 3));
      const decision = await ask(limiter, wide, limitOf("full", 3), limitOf("small", 5, 6), limitOf("peek", 4, 0));
      expect(decision).toMatchObject({
        passed: false,
        results: [
          { passed: true, remaining: 20 },
          { passed: false, remaining: 0 },
          { passed: false, remaining: 0 },
          { passed: true, remaining: 4 },
        ],
      });
      expect(counters.peek("small")).toBeUndefined();
    });
  });

  describe("a store that is away", () => {
    test("[design §4] held budget is spent first, then at most one further limit", async () => {
      const limiter = node("allow");
      for (let i = 0; i < 60; i++) await ask(limiter, limitOf("a", 100));
      const held = (counters.peek("a")?.current ?? 0) - 60;
      expect(held).toBeGreaterThan(0);
      fate = "not sent";
      const answers = await finish(Promise.all(Array.from({ length: 300 }, () => limiter.check([limitOf("a", 100)], Date.now()))));
      expect(answers.filter(({ passed }) => passed).length).toBe(held + 100);
    });

    test("[design §4] the policy deny admits out of held budget only", async () => {
      const limiter = node("deny");
      for (let i = 0; i < 60; i++) await ask(limiter, limitOf("a", 100));
      const held = (counters.peek("a")?.current ?? 0) - 60;
      fate = "not sent";
      let passed = 0;
      for (let i = 0; i < 60; i++) if (await passes(limiter, limitOf("a", 100))) passed++;
      expect(passed).toBe(held);
    });

    test("[verify §5] several limits are still all or nothing", async () => {
      const limiter = node("allow");
      fate = "not sent";
      const [wide, narrow] = [limitOf("wide", 10), limitOf("narrow", 3)];
      const decisions: Decision[] = [];
      for (let i = 0; i < 8; i++) decisions.push(await ask(limiter, wide, narrow));
      expect(decisions.filter(({ passed }) => passed).length).toBe(3);
      expect(decisions[7]).toMatchObject({
        results: [
          { passed: true, remaining: 7 },
          { passed: false, remaining: 0 },
        ],
      });
      let more = 0;
      while (await passes(limiter, wide)) more++;
      expect(more).toBe(7);
    });

    test("[design §4] one that comes and goes gives one further limit per window, not one each time", async () => {
      const limiter = node("allow");
      limiter.start();
      const month = limitOf("a", 5, 1, MONTH);
      let passed = 0;
      for (let outage = 0; outage < 4; outage++) {
        fate = "not sent";
        while (await passes(limiter, month)) passed++;
        fate = "works";
        await vi.advanceTimersByTimeAsync(120_000);
      }
      expect(passed).toBe(5);
      while (await passes(limiter, month)) passed++;
      expect(passed).toBe(10);
      await finish(limiter.stop());
    });

    test("[design §4] a charge whose answer is lost costs budget, and never gives any", async () => {
      const limiter = node("deny");
      let passed = 0;
      for (let i = 0; i < 12; i++) {
        fate = i % 3 === 0 ? "answer lost" : "works";
        if (await passes(limiter, limitOf("a", 10))) passed++;
      }
      fate = "works";
      while (await passes(limiter, limitOf("a", 10))) passed++;
      expect(passed).toBeLessThan(10);
      expect(counters.peek("a")?.current).toBe(10);
    });
  });

  describe("memory", () => {
    test("[design §4] an idle counter is made compact, costs one operation when it is asked for again, and still denies by what it knew", async () => {
      const limiter = node();
      limiter.start();
      expect(await passes(limiter, limitOf("a", 3))).toBe(true);
      await vi.advanceTimersByTimeAsync(5_000);
      expect(limiter.size()).toBe(1);
      const before = counters.operations();
      expect(await ask(limiter, limitOf("a", 3))).toMatchObject({ passed: true, results: [{ remaining: 1 }] });
      expect(counters.operations()).toBe(before + 1);
      expect(await passes(limiter, limitOf("a", 3))).toBe(true);
      const full = counters.operations();
      expect(limiter.check([limitOf("a", 3)], Date.now())).toMatchObject({ passed: false });
      expect(counters.operations()).toBe(full);
      await finish(limiter.stop());
    });

    test("[design §4] counters are forgotten after their windows, held budget goes back before", async () => {
      const limiter = node();
      limiter.start();
      for (let i = 0; i < 30; i++) await ask(limiter, limitOf("held", 1_000));
      for (let i = 0; i < 50; i++) await ask(limiter, limitOf(`short ${i}`, 3, 1, 1_000));
      expect(limiter.size()).toBe(51);
      await vi.advanceTimersByTimeAsync(4_000);
      expect(limiter.size()).toBe(1);
      expect(counters.peek("held")).toMatchObject({ current: 30 });
      await vi.advanceTimersByTimeAsync(62_000);
      expect(limiter.size()).toBe(0);
      await finish(limiter.stop());
    });

    test("[design §4] what was admitted while the store was away is remembered to the end of the window, and no longer", async () => {
      const limiter = node("allow");
      limiter.start();
      const hour = limitOf("hour", 5, 1, 3_600_000);
      fate = "not sent";
      while (await passes(limiter, hour));
      while (await passes(limiter, limitOf("second", 5, 1, 1_000)));
      await vi.advanceTimersByTimeAsync(10_000);
      expect(limiter.size()).toBe(1);
      await vi.advanceTimersByTimeAsync(3_580_000);
      expect(await passes(limiter, hour)).toBe(false);
      await vi.advanceTimersByTimeAsync(100_000);
      expect(limiter.size()).toBe(0);
      await finish(limiter.stop());
    });
  });
});
