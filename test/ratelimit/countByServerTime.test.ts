import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Admission, countExcess } from "../../bench/limiterRuns/admissions.ts";
import { simulatedCounters } from "../../bench/limiterRuns/simulation.ts";
import { countByServerTime } from "../../src/features/ratelimit/countByServerTime.ts";
import { createLimiter, type Limiter } from "../../src/features/ratelimit/limiter.ts";
import { type Clock, systemClock } from "../../src/platform/base/clock.ts";
import type { Counters } from "../../src/platform/storage/port/counters.ts";

const START = 675 * 2_592_000_000;
const DURATION = 10_000;
const LIMIT = 100;
const check = { key: "a", limit: LIMIT, duration: DURATION, cost: 1 };

beforeEach(() => {
  vi.useFakeTimers({ now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Counters of a server that goes by its own clock, which is the time of the test. */
const serverCounters = (): Counters => {
  const counters = simulatedCounters({ latency: () => 1 });
  return { ...counters, charge: (key, request) => counters.charge(key, { ...request, now: Date.now() }) };
};
const offBy = (offset: number): Clock => ({ ...systemClock, now: () => Date.now() + offset });

/** Twenty checks a second on each node, for three windows; those that passed, by the server's time. */
const load = async (nodes: readonly { readonly limiter: Limiter; readonly clock: Clock }[]): Promise<Admission[]> => {
  const admitted: Admission[] = [];
  const running: Promise<void>[] = [];
  for (let i = 0; i < 3 * 200; i++) {
    for (const { limiter, clock } of nodes) {
      const ask = async (): Promise<void> => {
        const { passed, results } = await limiter.check([check], clock.now());
        const seq = (results[0]?.reset ?? 0) / DURATION - 1;
        if (passed) admitted.push({ seq, at: Math.min(Date.now(), (seq + 1) * DURATION - 1), cost: 1 });
      };
      running.push(ask());
    }
    await vi.advanceTimersByTimeAsync(50);
  }
  await vi.advanceTimersByTimeAsync(1_000);
  await Promise.all(running);
  return admitted;
};

const SECOND = 1_000;

describe("[ratelimit §13] nodes whose clocks differ from the server's that counts", () => {
  test.each([
    [0, 7],
    [-40, 40],
    [-3 * SECOND, 3 * SECOND],
    [-50 * SECOND, 50 * SECOND],
  ])("by %i and %i ms admit the limit together, and no more, even before they know of it", async (behind, ahead) => {
    const counters = serverCounters();
    const nodes = [behind, ahead].map((offset) => {
      const clock = offBy(offset);
      return { clock, limiter: createLimiter({ clock, counters, storeDown: "deny" }) };
    });
    const admitted = await load(nodes);
    expect(countExcess(admitted, LIMIT, DURATION)).toBe(0);
    // Three windows of which each begins when the one before weighs all.
    expect(admitted.length).toBeGreaterThanOrEqual(0.95 * 2 * LIMIT);
  });

  test.each([-600 * SECOND, -50 * SECOND, 50 * SECOND, 600 * SECOND])(
    "by %i ms see what it counts once they know of it",
    async (offset) => {
      const counters = serverCounters();
      const clock = offBy(offset);
      const limiter = countByServerTime(createLimiter({ clock: systemClock, counters, storeDown: "deny" }), clock);
      const admitted = await load([{ limiter, clock }]);
      expect(countExcess(admitted, LIMIT, DURATION)).toBe(0);
      expect(admitted.length).toBeGreaterThanOrEqual(0.95 * 2 * LIMIT);
      const looked = limiter.check([{ ...check, cost: 0 }], clock.now());
      await vi.advanceTimersByTimeAsync(10);
      const { results } = await looked;
      expect(results[0]?.reset).toBe((Math.floor(Date.now() / DURATION) + 1) * DURATION);
      expect(results[0]?.remaining).toBeLessThan(LIMIT);
    },
  );
});
