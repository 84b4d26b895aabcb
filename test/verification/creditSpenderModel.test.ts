import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createCreditSpender, type Spend } from "../../src/features/keys/creditSpender.ts";
import type { KeysRepository } from "../../src/features/keys/keysRepository.ts";
import type { KeyDocument } from "../../src/platform/storage/port/documents.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** The fate of one operation: it works, never reaches the store, or is applied but its answer is lost. */
type Fate = "works" | "not sent" | "answer lost";

const elapse = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
const cycle = <T>(values: readonly T[], otherwise: T): (() => T) => {
  let next = 0;
  return () => values[next++ % values.length] ?? otherwise;
};

/** One key in a store whose operations take random times, and so overtake each other. */
const simulatedKey = (balance: number, latency: () => number, fate: () => Fate) => {
  const key = { remaining: balance, operations: 0 };
  const document = (): KeyDocument => ({ remaining: key.remaining }) as KeyDocument;
  const operate = async <T>(operation: () => T): Promise<T> => {
    key.operations++;
    const outcome = fate();
    await elapse(latency());
    if (outcome === "not sent") throw new StoreUnavailableError("simulated");
    const result = operation();
    await elapse(latency());
    if (outcome === "answer lost") throw new StoreUnavailableError("simulated", { outcomeUnknown: true });
    return result;
  };
  const keys: Pick<KeysRepository, "find" | "spend"> = {
    find: () => operate(document),
    spend: (_, amount) =>
      operate(() => {
        if (key.remaining < amount) return null;
        key.remaining -= amount;
        return document();
      }),
  };
  // Spending without refills uses nothing else.
  return { key, keys: keys as KeysRepository };
};

interface Call {
  readonly at: number;
  readonly cost: number;
  readonly node: number;
}
type Result = Call & { readonly spend: Spend | "unavailable" };

const call = fc.record({ at: fc.nat({ max: 80 }), cost: fc.constantFrom(0, 1, 1, 1, 2, 3, 7, 40), node: fc.nat({ max: 1 }) });
const calls = fc.array(call, { minLength: 1, maxLength: 80 });
const latencies = fc.array(fc.nat({ max: 15 }), { minLength: 1, maxLength: 40 });
const balances = fc.constantFrom(0, 1, 20, 60, 1_000);

const spendAll = async (keys: KeysRepository, planned: readonly Call[]): Promise<Result[]> => {
  const nodes = [createCreditSpender(keys), createCreditSpender(keys)];
  const running = planned
    .toSorted((a, b) => a.at - b.at)
    .map(async (each): Promise<Result> => {
      await elapse(each.at);
      try {
        return { ...each, spend: (await nodes[each.node]?.spend("key_1", each.cost)) ?? "unavailable" };
      } catch (error) {
        expect(error).toBeInstanceOf(StoreUnavailableError);
        return { ...each, spend: "unavailable" };
      }
    });
  await vi.advanceTimersByTimeAsync(20_000);
  return Promise.all(running);
};

const spentOf = (results: readonly Result[]): { cost: number; balance: number }[] =>
  results.flatMap(({ cost, spend }) => (spend !== "unavailable" && spend.outcome === "spent" ? [{ cost, balance: spend.balance }] : []));
const sum = (items: readonly { readonly cost: number }[]): number => items.reduce((total, { cost }) => total + cost, 0);

/** Each spend took the credits from its balance up to its balance plus its cost: no credit may be taken twice. */
const expectDisjoint = (spent: readonly { cost: number; balance: number }[], from: number, to: number): void => {
  let free = from;
  for (const { cost, balance } of spent.filter((each) => each.cost > 0).sort((a, b) => a.balance - b.balance)) {
    expect(balance).toBeGreaterThanOrEqual(free);
    free = balance + cost;
  }
  expect(free).toBeLessThanOrEqual(to);
};

test("[verify §11] on one node, calls in parallel end exactly as they would one after the other", async () => {
  await fc.assert(
    fc.asyncProperty(balances, calls, latencies, async (balance, planned, delays) => {
      const { key, keys } = simulatedKey(balance, cycle(delays, 0), () => "works");
      const results = await spendAll(
        keys,
        planned.map((each) => ({ ...each, node: 0 })),
      );
      let left = balance;
      for (const { cost, spend } of results) {
        const fits = cost <= left;
        if (fits) left -= cost;
        expect(spend).toMatchObject(fits ? { outcome: "spent", balance: left } : { outcome: "exceeded" });
        if (!fits) expect((spend as { balance: number }).balance).toBeLessThan(cost);
      }
      expect(key.remaining).toBe(left);
    }),
    { numRuns: 400 },
  );
});

test("[verify §11] on two nodes, what is granted is what is gone, each balance is reported once, and no call that fits is denied", async () => {
  await fc.assert(
    fc.asyncProperty(balances, calls, latencies, async (balance, planned, delays) => {
      const { key, keys } = simulatedKey(balance, cycle(delays, 0), () => "works");
      const results = await spendAll(keys, planned);
      const spent = spentOf(results);
      expect(balance - key.remaining).toBe(sum(spent));
      expectDisjoint(spent, key.remaining, balance);
      for (const { cost, spend } of results) {
        if (spend === "unavailable") expect.unreachable("the store did not fail");
        if (spend.outcome !== "exceeded") continue;
        expect(spend.balance).toBeLessThan(cost);
        expect(cost).toBeGreaterThan(key.remaining);
      }
    }),
    { numRuns: 400 },
  );
});

test("[verify §11] with a store that fails now and then, never more is granted than is gone, and every call ends", async () => {
  const fates = fc.array(fc.constantFrom<Fate>("works", "works", "works", "not sent", "answer lost"), { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(balances, calls, latencies, fates, async (balance, planned, delays, outcomes) => {
      const { key, keys } = simulatedKey(balance, cycle(delays, 0), cycle(outcomes, "works"));
      const results = await spendAll(keys, planned);
      const spent = spentOf(results);
      expect(key.remaining).toBeGreaterThanOrEqual(0);
      expect(sum(spent)).toBeLessThanOrEqual(balance - key.remaining);
      expectDisjoint(spent, key.remaining, balance);
      // Any further missing credits were spent by calls that were answered "unavailable".
      expect(balance - key.remaining).toBeLessThanOrEqual(sum(results.filter(({ spend }) => spend === "unavailable")) + sum(spent));
    }),
    { numRuns: 400 },
  );
});

test("calls that come together become one write", async () => {
  const { key, keys } = simulatedKey(
    1_000,
    () => 5,
    () => "works",
  );
  await spendAll(
    keys,
    Array.from({ length: 500 }, () => ({ at: 0, cost: 1, node: 0 })),
  );
  expect(key.remaining).toBe(500);
  expect(key.operations).toBeLessThanOrEqual(3);
});
