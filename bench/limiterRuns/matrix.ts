import { createLimiter, type Limiter } from "../../src/features/ratelimit/limiter.ts";
import { windowAt } from "../../src/platform/storage/counters/slidingWindow.ts";
import { type Admission, countExcess, countPasses } from "./admissions.ts";
import { simulatedCounters } from "./simulation.ts";
import { createVirtualWorld } from "./virtualWorld.ts";

/** Start of a window of 30 days, and so of every shorter one that divides it. */
const START = 675 * 2_592_000_000;
const RECLAIM_EVERY_MS = 500;

/** One identifier under evenly spaced calls of cost 1, each to a random node (ratelimit §13). */
export interface Load {
  readonly nodes: number;
  readonly limit: number;
  /** Milliseconds. */
  readonly duration: number;
  /** Calls per window, in limits. */
  readonly factor: number;
}

/** A load and for how many windows it lasts. */
export interface Combination extends Load {
  readonly windows: number;
}

export interface Accuracy extends Combination {
  /** Calls. */
  readonly total: number;
  readonly admitted: number;
  /** What the formula of ratelimit §3 lets pass of the same calls: one node that needs no time. */
  readonly allowed: number;
  /** What was admitted beyond the formula, by the merged log of all nodes. */
  readonly overAdmitted: number;
  readonly storeOperations: number;
}

/** For how many windows each load of the contract's matrix lasts. */
export const LENGTHS: readonly number[] = [3, 5, 10];

/** Every load of the contract's matrix; each stands for three combinations. */
export const loads: readonly Load[] = [1, 3, 5, 9].flatMap((nodes) =>
  (
    [
      [10, 60_000],
      [100, 10_000],
      [100, 30_000],
      [100, 300_000],
      [1_000, 10_000],
      [10_000, 60_000],
    ] as const
  ).flatMap(([limit, duration]) => [0.9, 1, 1.5, 2].map((factor) => ({ nodes, limit, duration, factor }))),
);

/** Calls per second of the contract. */
export const rateOf = ({ limit, duration, factor }: Load): number => Math.max(1, Math.floor((limit * factor * 1_000) / duration));

const totalOf = (load: Load, rate: number, windows: number): number => rate * Math.ceil((windows * load.duration) / 1_000);

/** The bounds of the contract on the number of passes. @param excess share of the limit that may pass beyond it */
export const boundsOf = ({ limit, duration }: Load, rate: number, total: number, excess: number): readonly [number, number] => {
  if ((rate * duration) / 1_000 <= limit) return [Math.floor(0.95 * total), total];
  const most = Math.min((total / rate) * (1_000 / duration) * limit, total);
  return [Math.floor(0.95 * most), Math.min(total, Math.floor(most * (1 + excess)))];
};

/** The same pseudo-random numbers in every run. */
const createRandom = (): ((below: number) => number) => {
  let state = 42;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
};

/**
 * Puts a load on real limiters, in virtual time, over a store whose messages take 1 to 3 ms in either direction. The
 * loads of a matrix differ in their length alone: a longer one begins with the shorter ones, so one run tells of all.
 */
export const simulate = async (
  load: Load,
  rate: number = rateOf(load),
  lengths: readonly number[] = LENGTHS,
): Promise<readonly Accuracy[]> => {
  const { limit, duration } = load;
  const random = createRandom();
  const world = createVirtualWorld(START);
  const counters = simulatedCounters({ latency: () => 1 + random(3), travel: world.elapse });
  const nodes = Array.from({ length: load.nodes }, () => createLimiter({ clock: world.clock, counters, storeDown: "deny" }));
  const totals = lengths.map((windows) => totalOf(load, rate, windows));
  const total = Math.max(...totals);
  // In the middle of its interval: a call at the very start of a window meets all of the window before, and the formula
  // itself then denies every tenth call of 5 per 5 s, which the bounds of the contract do not allow for.
  const timeOf = (i: number): number => START + Math.floor(((i + 0.5) * 1_000) / rate);

  const passed: (Admission | undefined)[] = [];
  const operations: number[] = [];
  const check = { key: "a", limit, duration, cost: 1 };
  const note = (i: number, isPassed: boolean, reset: number): void => {
    if (isPassed) passed[i] = { seq: windowAt(reset - 1, duration), at: Math.min(world.clock.now(), reset - 1), cost: 1 };
    operations[i] = counters.operations();
  };
  let reclaimAt = START + RECLAIM_EVERY_MS;
  for (let i = 0; i < total; i++) {
    for (const at = timeOf(i); reclaimAt <= at; reclaimAt += RECLAIM_EVERY_MS) {
      await world.passUntil(reclaimAt);
      for (const node of nodes) void node.reclaimIdle();
      await world.settle();
    }
    await world.passUntil(timeOf(i));
    const answer = (nodes[random(nodes.length)] as Limiter).check([check], world.clock.now());
    if (answer instanceof Promise) {
      void answer.then(({ results }) => note(i, results[0]?.passed === true, results[0]?.reset ?? 0));
      await world.settle();
    } else {
      note(i, answer.passed, answer.results[0]?.reset ?? 0);
    }
  }
  await world.passUntil(timeOf(total) + 10_000);

  return lengths.map((windows, n) => {
    const calls = totals[n] ?? 0;
    const log = passed.slice(0, calls).filter((admission) => admission !== undefined);
    const times = Array.from({ length: calls }, (_, i) => timeOf(i));
    return {
      ...load,
      windows,
      total: calls,
      admitted: log.length,
      allowed: countPasses(times, limit, duration),
      overAdmitted: countExcess(log, limit, duration),
      storeOperations: operations[calls - 1] ?? 0,
    };
  });
};
