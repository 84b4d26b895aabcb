import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../../src/domain/clock.ts";
import { createLimiter, type Limiter } from "../../src/ratelimit/limiter.ts";
import { type SimulatedCounters, simulatedCounters } from "./simulation.ts";

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

interface Load {
  readonly n: number;
  readonly limit: number;
  readonly duration: number;
  readonly factor: number;
  readonly windows: number;
}

/** Sends `rps` calls a second, evenly spaced, each to a random node; returns how many were sent and passed. */
const drive = async ({ n, limit, duration, windows }: Load, rps: number): Promise<{ total: number; passed: number }> => {
  const { nodes, random } = startNodes(n);
  const total = rps * Math.ceil((windows * duration) / 1_000);
  const calls: Promise<boolean>[] = [];
  const run = async (): Promise<void> => {
    for (let i = 0; i < total; i++) {
      const wait = START + Math.floor((i * 1_000) / rps) - Date.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      calls.push((async () => (await nodes[random(n)]?.check([{ key: "a", limit, duration, cost: 1 }], Date.now()))?.passed === true)());
    }
  };
  await finish(run());
  const passed = (await finish(Promise.all(calls))).filter(Boolean).length;
  await finish(Promise.all(nodes.map((node) => node.stop())));
  return { total, passed };
};

const several: Load[] = [1, 3, 5, 9].flatMap((n) =>
  (
    [
      [10, 60_000],
      [100, 10_000],
      [100, 30_000],
      [100, 300_000],
      [1_000, 10_000],
    ] as const
  ).flatMap(([limit, duration]) => [0.9, 1, 1.5, 2].map((factor) => ({ n, limit, duration, factor, windows: 3 }))),
);

const expectAccurate = async (load: Load, rps: number, excess: number): Promise<void> => {
  const { limit, duration } = load;
  const { total, passed } = await drive(load, rps);
  const windows = (total / rps) * (1_000 / duration);
  const most = Math.min(windows * limit, total);
  const below = (rps * duration) / 1_000 <= limit;
  expect(passed).toBeGreaterThanOrEqual(Math.floor(0.95 * (below ? total : most)));
  expect(passed).toBeLessThanOrEqual(below ? total : Math.min(total, Math.floor(most * (1 + excess))));
};

test.each(several)("[ratelimit §13] $n nodes, $limit per $duration ms, load $factor: passes stay within the bounds", async (load) => {
  const { n, limit, duration, factor } = load;
  await expectAccurate(load, Math.max(1, Math.floor((limit * factor * 1_000) / duration)), 0.1 * n);
});

const single: Load[] = [5, 100].flatMap((limit) =>
  [1_000, 5_000].flatMap((duration) => [0.9, 1, 10].map((factor) => ({ n: 1, limit, duration, factor, windows: 50 }))),
);

test.each(single)("[ratelimit §13] one node over 50 windows, $limit per $duration ms, load $factor: within the bounds", async (load) => {
  const { limit, duration, factor } = load;
  await expectAccurate(load, Math.ceil((limit * factor * 1_000) / duration), 0.2);
});

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
