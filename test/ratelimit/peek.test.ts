import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Check } from "../../src/features/ratelimit/check.ts";
import { createLimiter, type Limiter } from "../../src/features/ratelimit/limiter.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { sized } from "../support/sized.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

const MINUTE = 60_000;

describe.each(engines)("on $name", { timeout: 120_000 }, (engine) => {
  const clock = createTestClock();
  let store: Store;
  let series = 0;
  beforeAll(async () => {
    store = await engine.open();
  });
  afterAll(() => engine.close());

  const createNode = (): Limiter => createLimiter({ clock, counters: store.counters, storeDown: "deny" });
  const limitOf = (key: string, limit: number, cost: number, duration = MINUTE): Check => ({ key, limit, duration, cost });

  test("[management §2] an unused counter is empty, and looking at it creates none", async () => {
    const node = createNode();
    const seq = Math.floor(clock.now() / MINUTE);
    const empty = { seq, current: 0, previous: 0, weighted: 0, now: clock.now() };
    expect(await node.peek([limitOf("unseen", 2, 2), limitOf("unseen", 2, 3)])).toEqual([
      { ...empty, passed: true },
      { ...empty, passed: false },
    ]);
    expect(node.size()).toBe(0);
    expect(await store.counters.read("unseen")).toBeNull();
  });

  test("[management §2] counts of the window before lose weight, and budget that is left of it is not among them", async () => {
    const node = createNode();
    clock.advance(MINUTE - (clock.now() % MINUTE));
    for (let i = 0; i < 40; i++) await node.check([limitOf("weighed", 1_000, 1)], clock.now());
    expect(await node.peek([limitOf("weighed", 1_000, 1)])).toMatchObject([{ current: 40, previous: 0, weighted: 0 }]);
    clock.advance(MINUTE);
    expect(await node.peek([limitOf("weighed", 1_000, 1)])).toMatchObject([{ current: 0, previous: 40, weighted: 40 }]);
    clock.advance(MINUTE / 2);
    expect(await node.peek([limitOf("weighed", 1_000, 1)])).toMatchObject([{ current: 0, previous: 40, weighted: 20 }]);
    await node.stop();
  });

  let isLooking = false;
  /** A node whose reads of a counter can be told what happens while their answers are on their way. */
  const nodeWithReads = (meanwhile: (node: Limiter, reads: number) => Promise<unknown>): Limiter => {
    const counters = store.counters;
    let reads = 0;
    const node: Limiter = createLimiter({
      clock,
      counters: {
        ...counters,
        read: async (key, behalf) => {
          const read = await counters.read(key, behalf);
          if (isLooking) await meanwhile(node, ++reads);
          return read;
        },
      },
      storeDown: "deny",
    });
    return node;
  };
  const look = async (node: Limiter, check: Check) => {
    isLooking = true;
    const [peek] = await node.peek([check]);
    isLooking = false;
    return peek;
  };
  const charge = async (node: Limiter, check: Check, times: number): Promise<void> => {
    const was = isLooking;
    isLooking = false;
    for (let i = 0; i < times; i++) await node.check([check], clock.now());
    isLooking = was;
  };

  test("[management §2] charges made while the store is read are neither missed nor counted twice", async () => {
    const check = limitOf("between", 100_000, 1);
    // So many that budget is charged ahead, more with each time.
    const node = nodeWithReads((self, reads) => (reads > 2 ? Promise.resolve() : charge(self, check, 300)));
    expect(await look(node, check)).toMatchObject({ current: 600, passed: true });
    await charge(node, check, 50);
    expect(await look(node, check)).toMatchObject({ current: 650 });
    await node.stop();
  });

  test("[management §2] budget returned while the store is read does not count as used", async () => {
    const check = limitOf("given back", 100_000, 1);
    const node = nodeWithReads((self, reads) => (reads > 1 ? Promise.resolve() : self.stop()));
    await charge(node, check, 300);
    expect(await look(node, check)).toMatchObject({ current: 300 });
    await node.stop();
  });

  test("[management §2] a counter that is charged at every look is shown with at most its value, never with less", async () => {
    const check = limitOf("always", 100_000, 1);
    let charged = 0;
    const node = nodeWithReads(async (self) => {
      await charge(self, check, 500);
      charged += 500;
    });
    const peek = await look(node, check);
    expect(peek?.current).toBeGreaterThanOrEqual(charged - 500);
    await node.stop();
  });

  test("[management §2] a look says what the check after it decides, and changes nothing about it", async () => {
    const check = fc.record({
      name: fc.constantFrom("a", "b"),
      limit: fc.constantFrom(1, 3, 25, 60),
      cost: fc.constantFrom(0, 1, 2, 10),
      duration: fc.constantFrom(1_000, MINUTE),
    });
    const step = fc.record({
      wait: fc.constantFrom(0, 0, 0, 100, 999, 1_000, 30_000, 60_000),
      checks: fc.uniqueArray(check, { minLength: 1, maxLength: 2, selector: ({ name }) => name }),
    });
    const run = async (steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[]): Promise<void> => {
      const node = createNode();
      const prefix = `run${++series}`;
      for (const { wait, checks } of steps) {
        clock.advance(wait);
        const asked = checks.map(({ name, limit, cost, duration }) => limitOf(`${prefix}:${duration}:${name}`, limit, cost, duration));
        const peeks = await node.peek(asked);
        expect(await node.peek(asked)).toEqual(peeks);
        const { passed, results } = await node.check(asked, clock.now());
        expect(peeks.every((peek) => peek.passed)).toBe(passed);
        if (passed) continue;
        // A denial spends nothing: the other limits report all their remaining tokens.
        for (const [i, { current, weighted, passed: hasRoom }] of peeks.entries()) {
          expect(results[i]?.remaining).toBe(hasRoom ? Math.max(0, (asked[i]?.limit ?? 0) - current - weighted) : 0);
        }
      }
      await node.stop();
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), run), { numRuns: sized(40, 400) });
  });
});
