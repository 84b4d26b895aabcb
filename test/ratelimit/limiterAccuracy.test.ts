import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type SimulatedCounters, simulatedCounters } from "../../bench/limiterRuns/simulation.ts";
import { createLimiter, type Limiter } from "../../src/features/ratelimit/limiter.ts";
import { systemClock } from "../../src/platform/base/clock.ts";

const START = 675 * 2_592_000_000;

beforeEach(() => {
  vi.useFakeTimers({ now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

/** The same pseudo-random numbers in every run. */
const createRandom = (): ((below: number) => number) => {
  let state = 42;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
};

const startNodes = (
  count: number,
): { readonly nodes: Limiter[]; readonly counters: SimulatedCounters; random: (below: number) => number } => {
  const random = createRandom();
  const counters = simulatedCounters({ latency: () => 1 + random(3) });
  const nodes = Array.from({ length: count }, () => createLimiter({ clock: systemClock, counters, storeDown: "deny" }));
  for (const node of nodes) node.start();
  return { nodes, counters, random };
};

const finish = async <T>(work: Promise<T>): Promise<T> => {
  let done = false;
  const finished = work.finally(() => {
    done = true;
  });
  while (!done) await vi.advanceTimersByTimeAsync(50);
  return finished;
};

test("[ratelimit §13] nodes that saw one check each do not admit more together when all of them burst half a window later", async () => {
  const { nodes } = startNodes(5);
  const check = { key: "a", limit: 162_000, duration: 60_000, cost: 1_500 };
  const ask = (node: Limiter): Promise<boolean> => (async () => (await node.check([check], Date.now())).passed)();
  await finish(Promise.all(nodes.map(ask)));
  await vi.advanceTimersByTimeAsync(30_000);
  const burst = await finish(Promise.all(nodes.flatMap((node) => Array.from({ length: 200 }, () => ask(node)))));
  const tokens = (5 + burst.filter(Boolean).length) * 1_500;
  expect(tokens).toBeLessThanOrEqual(162_000);
  expect(tokens).toBeGreaterThanOrEqual(0.95 * 162_000);
});

test("[ratelimit §13] a node idle for ten minutes, or since the window began, knows of the others' traffic in its next check", async () => {
  const { nodes } = startNodes(2);
  const [idle, busy] = nodes as [Limiter, Limiter];
  const ask = (node: Limiter, cost: number) =>
    finish((async () => (await node.check([{ key: "a", limit: 100, duration: 60_000, cost }], Date.now())).results[0])());
  await ask(idle, 1);
  await vi.advanceTimersByTimeAsync(600_000 - (Date.now() % 60_000));
  await ask(idle, 1);
  for (let i = 0; i < 60; i++) await ask(busy, 1);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await ask(idle, 0)).toMatchObject({ passed: true, remaining: 39 });
  let admitted = 0;
  while ((await ask(idle, 1))?.passed) admitted++;
  expect(admitted).toBe(39);
});
