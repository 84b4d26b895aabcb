import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Admission, countExcess } from "../../bench/limiterRuns/admissions.ts";
import { type Fate, type SimulationOptions, simulatedCounters, simulatedDocumentCounters } from "../../bench/limiterRuns/simulation.ts";
import { type Clock, systemClock } from "../../src/domain/clock.ts";
import type { Check } from "../../src/ratelimit/check.ts";
import { createLimiter, type Decision, type Limiter } from "../../src/ratelimit/limiter.ts";
import type { Counters } from "../../src/storage/port/counters.ts";
import { sized } from "../support/sized.ts";

/** Start of a window of 30 days, and so of every shorter window that divides it. */
const MONTH = 2_592_000_000;
const START = 675 * MONTH;

beforeEach(() => {
  // Turns of the event loop pass as they do.
  vi.useFakeTimers({ now: START, toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const elapse = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
const limiterOn = (counters: Counters, clock: Clock = systemClock): Limiter => createLimiter({ clock, counters, storeDown: "deny" });

/** The world as it was when it began: the nodes of runs before look at their store for ever. */
const beginAgain = (): void => {
  vi.clearAllTimers();
  vi.setSystemTime(START);
};

/** Numbers in turn, from what fast-check chose. */
const cycle = <T>(values: readonly T[], otherwise: T): (() => T) => {
  let next = 0;
  return () => values[next++ % values.length] ?? otherwise;
};
const latencies = fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 40 });

const SECOND = 1_000;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets time pass until all is done, but never while there is something to do. */
const passing = async <T>(running: Promise<T>): Promise<T> => {
  let isDone = false;
  const done = running.finally(() => {
    isDone = true;
  });
  done.catch(() => undefined);
  for (await turn(); !isDone; await turn()) {
    await turn();
    await vi.advanceTimersToNextTimerAsync();
  }
  return done;
};

/** What is asked now, with no time between. */
const now = async <T>(asked: T | Promise<T>): Promise<T> => {
  let isDone = false;
  const done = Promise.resolve(asked).finally(() => {
    isDone = true;
  });
  done.catch(() => undefined);
  while (!isDone) await turn();
  return done;
};

const shared = [
  { counted: "that others share", simulate: simulatedCounters, rollsIn: 1 },
  // A window is rolled by the second operation of a charge, after a read.
  { counted: "in documents that others share", simulate: simulatedDocumentCounters, rollsIn: 2 },
];

describe.each([
  ...shared,
  { counted: "of its own", simulate: (options: SimulationOptions) => simulatedCounters({ ...options, isShared: false }), rollsIn: 1 },
])("one node with counters $counted", ({ simulate, rollsIn }) => {
  const check = fc.record({
    key: fc.constantFrom("a", "b", "c"),
    limit: fc.constantFrom(3, 10, 10, 60),
    cost: fc.constantFrom(1, 1, 1, 2, 5, 30),
  });
  const call = fc.record({
    at: fc.nat({ max: 60 }),
    checks: fc.uniqueArray(check, { minLength: 1, maxLength: 3, selector: ({ key }) => key }),
  });

  test("[verify §11] calls in parallel, on one limit or several, pass exactly as they would one after the other", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 60 }), latencies, async (calls, delays) => {
        beginAgain();
        const counters = simulate({ latency: cycle(delays, 0) });
        const limiter = limiterOn(counters);
        const ordered = calls.toSorted((a, b) => a.at - b.at);
        const running = ordered.map(async ({ at, checks }): Promise<Decision> => {
          await elapse(at);
          return limiter.check(
            checks.map((each): Check => ({ ...each, duration: MONTH })),
            Date.now(),
          );
        });
        const decisions = await passing(Promise.all(running));

        const used = new Map<string, number>();
        const expected = ordered.map(({ checks }) => {
          const passed = checks.every(({ key, limit, cost }) => (used.get(key) ?? 0) + cost <= limit);
          if (passed) for (const { key, cost } of checks) used.set(key, (used.get(key) ?? 0) + cost);
          return passed;
        });
        expect(decisions.map(({ passed }) => passed)).toEqual(expected);

        await passing(limiter.stop());
        for (const [key, count] of used) expect({ key, count: counters.peek(key)?.current }).toEqual({ key, count });
      }),
      { numRuns: sized(100, 500) },
    );
  });

  const entry = fc.record({
    key: fc.constantFrom("a", "b"),
    limit: fc.constantFrom(0, 1, 3, 10, 60),
    cost: fc.constantFrom(0, 1, 1, 2, 5, 30),
  });
  /** Calls may ask one counter several times: entry i is judged after the costs of those before it (ratelimit §7). */
  const batches = fc.array(fc.array(entry, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 30 });
  const judge = (used: Map<string, number>, entries: readonly { key: string; limit: number; cost: number }[]) => {
    const before = new Map(used);
    const judged = entries.map(({ key, limit, cost }) => {
      const earlier = used.get(key) ?? 0;
      used.set(key, earlier + cost);
      return { fits: earlier + cost <= limit, spent: limit - earlier - cost, unspent: limit - earlier };
    });
    const passed = judged.every(({ fits }) => fits);
    if (!passed) for (const { key } of entries) used.set(key, before.get(key) ?? 0);
    const results = judged.map(({ fits, spent, unspent }) => ({ passed: fits, remaining: fits ? (passed ? spent : unspent) : 0 }));
    return { passed, results };
  };

  test("[ratelimit §7] one call after the other, each entry passes and has left what the contract says", async () => {
    await fc.assert(
      fc.asyncProperty(batches, async (calls) => {
        beginAgain();
        const limiter = limiterOn(simulate({ latency: () => 0 }));
        const used = new Map<string, number>();
        for (const entries of calls) {
          const decision = await now(
            limiter.check(
              entries.map((each): Check => ({ ...each, duration: MONTH })),
              Date.now(),
            ),
          );
          expect(decision).toMatchObject(judge(used, entries));
        }
      }),
      { numRuns: sized(100, 500) },
    );
  });

  const step = fc.record({
    wait: fc.constantFrom(0, 0, 0, 1, 150, 400, 1_100, 2_300),
    reclaims: fc.boolean(),
    key: fc.constantFrom("a", "b"),
    limit: fc.constantFrom(3, 25, 60, 400, 400),
    cost: fc.constantFrom(0, 1, 1, 1, 2, 30),
  });

  test("[ratelimit §3] over many windows each call passes and has left what the formula says, whatever is held between", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
        beginAgain();
        const limiter = limiterOn(simulate({ latency: () => 0 }));
        const counts = new Map<string, number>();
        for (const { wait, reclaims, key, limit, cost } of steps) {
          await vi.advanceTimersByTimeAsync(wait);
          if (reclaims) await now(limiter.reclaimIdle());
          const time = Date.now();
          const seq = Math.floor(time / SECOND);
          const count = (window: number): number => counts.get(`${key} ${window}`) ?? 0;
          const used = count(seq) + Math.trunc((count(seq - 1) * (SECOND - (time % SECOND))) / SECOND);
          const passed = used + cost <= limit;
          if (passed) counts.set(`${key} ${seq}`, count(seq) + cost);
          const decision = await now(limiter.check([{ key, limit, duration: SECOND, cost }], time));
          expect(decision).toMatchObject({ passed, results: [{ passed, remaining: passed ? Math.max(0, limit - used - cost) : 0 }] });
        }
      }),
      { numRuns: sized(200, 1_000) },
    );
  });

  test("[design §4] what goes back with the write that begins a window goes back once, also when nobody knows whether it was done", async () => {
    beginAgain();
    let loses = 0;
    const counters = simulate({ latency: () => 0, fate: (): Fate => (loses-- === 1 ? "answer lost" : "works") });
    const losingRolls: Counters = {
      ...counters,
      charge: (key, request) => {
        const isRoll = (counters.peek(key)?.seq ?? Number.POSITIVE_INFINITY) < Math.floor(request.now / request.duration);
        loses = isRoll ? rollsIn : 0;
        return counters.charge(key, request);
      },
    };
    const check = async (limiter: Limiter) => {
      const decision = await now(limiter.check([{ key: "a", limit: 1_000, duration: SECOND, cost: 1 }], Date.now()));
      await vi.advanceTimersByTimeAsync(1);
      return decision;
    };
    const limiter = limiterOn(losingRolls);
    let passed = 0;
    for (let i = 0; i < 122; i++) if ((await check(limiter)).passed) passed++;
    expect(passed).toBe(122);
    await vi.advanceTimersByTimeAsync(SECOND - (Date.now() % SECOND));
    await check(limiter);
    await check(limiter);
    expect(counters.peek("a")?.previous).toBeGreaterThanOrEqual(122);
  });

  test("[ratelimit §3] after a denial at the beginning of a window the next call is judged without what was held in the last one", async () => {
    beginAgain();
    const limiter = limiterOn(simulate({ latency: () => 0 }));
    for (let i = 0; i < 90; i++) await now(limiter.check([{ key: "a", limit: 400, duration: SECOND, cost: 1 }], Date.now()));
    vi.setSystemTime(START + SECOND);
    const [denied, passing] = [311, 310].map((cost) => limiter.check([{ key: "a", limit: 400, duration: SECOND, cost }], Date.now()));
    expect(await now(denied)).toMatchObject({ passed: false });
    expect(await now(passing)).toMatchObject({ passed: true, results: [{ remaining: 0 }] });
  });

  test("[ratelimit §7] calls in parallel that ask a counter several times pass exactly as one after the other, and none waits for itself", async () => {
    await fc.assert(
      fc.asyncProperty(batches, fc.array(fc.nat({ max: 30 }), { minLength: 1 }), latencies, async (calls, times, delays) => {
        beginAgain();
        const limiter = limiterOn(simulate({ latency: cycle(delays, 0) }));
        // Peeks are judged at any moment of their call, and so not in the order of arrival.
        const spending = calls.map((entries) => entries.filter(({ cost }) => cost > 0)).filter(({ length }) => length > 0);
        const ordered = spending.map((entries, i) => ({ entries, at: times[i % times.length] ?? 0 })).sort((a, b) => a.at - b.at);
        const running = ordered.map(async ({ entries, at }) => {
          await elapse(at);
          return limiter.check(
            entries.map((each): Check => ({ ...each, duration: MONTH })),
            Date.now(),
          );
        });
        const decisions = await passing(Promise.all(running));
        const used = new Map<string, number>();
        expect(decisions.map(({ passed }) => passed)).toEqual(ordered.map(({ entries }) => judge(used, entries).passed));
      }),
      { numRuns: sized(100, 500) },
    );
  });

  test("[ratelimit §3] parallel calls that pass see distinct remaining values, each once", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 120 }),
        fc.array(fc.nat({ max: 40 }), { maxLength: 150 }),
        latencies,
        async (limit, times, delays) => {
          beginAgain();
          const limiter = limiterOn(simulate({ latency: cycle(delays, 0) }));
          const running = times.map(async (at) => {
            await elapse(at);
            return limiter.check([{ key: "a", limit, duration: MONTH, cost: 1 }], Date.now());
          });
          const results = (await passing(Promise.all(running))).flatMap((decision) => decision.results);
          const left = results.filter(({ passed }) => passed).map(({ remaining }) => remaining);
          expect(left.sort((a, b) => b - a)).toEqual(Array.from({ length: Math.min(limit, times.length) }, (_, i) => limit - 1 - i));
          expect(results.every(({ passed, remaining }) => passed || remaining === 0)).toBe(true);
        },
      ),
      { numRuns: sized(40, 200) },
    );
  });
});

describe.each(shared)("several nodes with counters $counted", ({ simulate }) => {
  const D = 1_000;
  const call = fc.record({
    at: fc.nat({ max: 6 * D }),
    node: fc.nat({ max: 4 }),
    cost: fc.constantFrom(0, 1, 1, 1, 1, 2, 7),
    alsoNarrow: fc.boolean(),
  });
  const world = fc.record({
    limit: fc.constantFrom(1, 5, 20, 21, 40, 200),
    calls: fc.array(call, { minLength: 20, maxLength: 250 }),
    delays: fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 40 }),
    skews: fc.array(fc.nat({ max: 300 }), { minLength: 5, maxLength: 5 }),
    fates: fc.array(fc.constantFrom<Fate>("works", "works", "works", "works", "works", "not sent", "answer lost"), {
      minLength: 1,
      maxLength: 30,
    }),
  });

  const run = async ({ limit, calls, delays, skews, fates }: typeof world extends fc.Arbitrary<infer W> ? W : never) => {
    beginAgain();
    const counters = simulate({ latency: cycle(delays, 0), fate: cycle(fates, "works") });
    const clocks = skews.map((skew): Clock => ({ now: () => Date.now() + skew, monotonic: () => performance.now() }));
    const nodes = clocks.map((clock) => limiterOn(counters, clock));
    for (const node of nodes) node.start();
    const ahead = Math.max(...skews);
    const log: Admission[] = [];
    const running = calls.map(async ({ at, node, cost, alsoNarrow }) => {
      await elapse(at);
      const narrow: Check[] = alsoNarrow ? [{ key: "narrow", limit: Math.ceil(limit / 3), duration: 7 * D, cost: 1 }] : [];
      const decision = await nodes[node]?.check([{ key: "shared", limit, duration: D, cost }, ...narrow], Date.now() + (skews[node] ?? 0));
      const reset = decision?.results[0]?.reset ?? 0;
      if (decision?.passed) log.push({ seq: reset / D - 1, at: Math.min(Date.now() + ahead, reset - 1), cost });
      return decision;
    });
    const decisions = await passing(Promise.all(running));
    await passing(Promise.all(nodes.map((node) => node.stop())));
    return {
      decisions,
      excess: countExcess(log, limit, D),
    };
  };

  test("[design §4] together never admit more than the formula, with clocks apart and a store that fails now and then", async () => {
    await fc.assert(
      fc.asyncProperty(world, async (one) => {
        const { decisions, excess } = await run(one);
        expect(excess).toBe(0);
        expect(decisions.every((decision) => decision !== undefined)).toBe(true);
      }),
      { numRuns: sized(60, 300) },
    );
  });

  test("[verify §11] of a burst on all of them at least 95 % pass, and never more than the limit", async () => {
    const burst = fc.record({
      nodes: fc.integer({ min: 2, max: 5 }),
      limit: fc.constantFrom(5, 10, 20, 21, 50, 100, 500),
      factor: fc.constantFrom(1, 1.5, 3),
      spread: fc.constantFrom(1, 50, 400),
      delays: latencies,
    });
    await fc.assert(
      fc.asyncProperty(burst, async ({ nodes, limit, factor, spread, delays }) => {
        beginAgain();
        const counters = simulate({ latency: cycle(delays, 0) });
        const limiters = Array.from({ length: nodes }, () => limiterOn(counters));
        const count = Math.ceil(limit * factor);
        const running = Array.from({ length: count }, async (_, i) => {
          await elapse(Math.floor((i * spread) / count));
          return limiters[i % nodes]?.check([{ key: "a", limit, duration: MONTH, cost: 1 }], Date.now());
        });
        const passes = (await passing(Promise.all(running))).filter((decision) => decision?.passed).length;
        expect(passes).toBeLessThanOrEqual(limit);
        expect(passes).toBeGreaterThanOrEqual(Math.floor(limit * 0.95));
      }),
      { numRuns: sized(20, 60) },
    );
  });
});
