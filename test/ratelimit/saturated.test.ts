import { describe, expect, test } from "vitest";
import { simulatedCounters, simulatedDocumentCounters } from "../../bench/limiterRuns/simulation.ts";
import { createVirtualWorld } from "../../bench/limiterRuns/virtualWorld.ts";
import { createLimiter, type Decision } from "../../src/ratelimit/limiter.ts";

const START = 1_000_000 * 60_000;
/** One exchange with the store, in milliseconds. */
const EXCHANGE = 10;

describe.each([
  // A charge that the store decides takes one exchange; one of conditional writes takes a read and a write at most while one node charges.
  { counted: "by a store that decides each charge", simulate: simulatedCounters, most: 2 },
  { counted: "in documents", simulate: simulatedDocumentCounters, most: 3 },
])("a limit that is used up, counted $counted", ({ simulate, most }) => {
  const startNode = () => {
    const world = createVirtualWorld(START);
    const counters = simulate({ latency: () => EXCHANGE / 2, travel: world.elapse });
    const limiter = createLimiter({ clock: world.clock, counters, storeDown: "deny" });
    const check = async (cost = 1, limit = 1_000): Promise<Decision & { readonly took: number }> => {
      const since = world.clock.monotonic();
      const decision = await limiter.check([{ key: "a", limit, duration: 1_000, cost }], world.clock.now());
      return { ...decision, took: world.clock.monotonic() - since };
    };
    return { world, counters, check };
  };

  test("[ratelimit §13] calls at twice the limit wait for three exchanges at most, after ten windows as in the first", async () => {
    const { world, counters, check } = startNode();
    const WINDOWS = 10;
    const PER_SECOND = 2_000;
    const calls: Promise<Decision & { readonly took: number }>[] = [];
    for (let i = 0; i < WINDOWS * PER_SECOND; i++) {
      await world.passUntil(START + Math.floor((i * 1_000) / PER_SECOND));
      calls.push(check());
      await world.settle();
    }
    await world.passUntil(START + (WINDOWS + 1) * 1_000);
    const decided = await Promise.all(calls);
    expect(Math.max(...decided.map(({ took }) => took))).toBeLessThanOrEqual(most * EXCHANGE);
    const admitted = decided.filter(({ passed }) => passed).length;
    expect(admitted).toBeLessThanOrEqual(WINDOWS * 1_000);
    expect(admitted).toBeGreaterThanOrEqual(0.95 * WINDOWS * 1_000);
    // A read and a write for each exchange that could be made in that time would be twice as many.
    expect(counters.operations()).toBeLessThanOrEqual((WINDOWS * 1_000) / EXCHANGE + 2 * WINDOWS);
  });

  test("[ratelimit §13] one charge decides all calls that wait, however many there are", async () => {
    const { world, counters, check } = startNode();
    const calls = Array.from({ length: 5_000 }, () => check());
    await world.passUntil(START + 100);
    const decided = await Promise.all(calls);
    expect(decided.filter(({ passed }) => passed)).toHaveLength(1_000);
    expect(Math.max(...decided.map(({ took }) => took))).toBeLessThanOrEqual(most * EXCHANGE);
    expect(counters.operations()).toBeLessThanOrEqual(most);
  });

  test("[ratelimit §3] a call that is denied behind others does not keep a smaller one from passing", async () => {
    const { world, check } = startNode();
    const first = check(990);
    await world.passUntil(START + EXCHANGE);
    expect(await first).toMatchObject({ passed: true });
    const rest = [check(20), check(6), check(5), check(4)];
    await world.passUntil(START + 10 * EXCHANGE);
    expect((await Promise.all(rest)).map(({ passed }) => passed)).toEqual([false, true, false, true]);
  });

  test("[ratelimit §3] calls of cost 0 that wait share the read of the first that arrived after it was sent", async () => {
    const { world, counters, check } = startNode();
    const peeks = [check(0)];
    await world.passUntil(START + 1);
    for (let i = 0; i < 100; i++) peeks.push(check(0));
    await world.passUntil(START + 10 * EXCHANGE);
    for (const peek of await Promise.all(peeks)) expect(peek).toMatchObject({ passed: true, results: [{ remaining: 1_000 }] });
    expect(counters.operations()).toBe(2);
  });
});
