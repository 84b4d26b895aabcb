import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFairRate } from "../../src/platform/fairness/fairRate.ts";
import { createFairShares, type Share } from "../../src/platform/fairness/fairShares.ts";

const take = (shares: ReturnType<typeof createFairShares>, path: readonly string[], times: number): Share[] =>
  Array.from({ length: times }, () => shares.take(path, 1)).filter((share) => share !== undefined);

describe("a shared resource", () => {
  test("one caller may have all of it while no other caller wants it, and no more than that", () => {
    const shares = createFairShares({ capacity: 10 });
    expect(take(shares, ["a"], 20)).toHaveLength(10);
    expect(shares.taken()).toBe(10);
    expect(shares.hasRoom(1)).toBe(false);
  });

  test("gives the others their fair share although one has taken everything", () => {
    const shares = createFairShares({ capacity: 12 });
    take(shares, ["hog"], 99);
    expect(take(shares, ["b"], 99)).toHaveLength(6);
    expect(take(shares, ["hog"], 99)).toHaveLength(0);
    expect(shares.taken()).toBe(18);
  });

  test("leaves something for a new caller, however many callers took their share before", () => {
    const shares = createFairShares({ capacity: 1_000 });
    const held = ["1", "2", "3", "4"].map((address) => take(shares, [address], 2_000));
    expect(shares.taken()).toBeLessThan(2_000);
    for (let i = 5; i <= 100; i++) expect([i, take(shares, [`${i}`], 1).length]).toEqual([i, 1]);
    // Returned permits go to those that have less than their share.
    for (const share of held[0]?.slice(0, 600) ?? []) share.give();
    expect(take(shares, ["100"], 99)).toHaveLength(9);
  });

  test("a first share is no large one when little is left", () => {
    const shares = createFairShares({ capacity: 1_000 });
    take(shares, ["1"], 1_000);
    take(shares, ["2"], 500);
    expect([shares.take(["3"], 63), shares.take(["3"], 62)?.grow(1)]).toEqual([undefined, false]);
    expect(shares.take(["4"], 50)).toBeDefined();
  });

  test("one group with many members leaves room for another's first share", () => {
    const shares = createFairShares({ capacity: 8 });
    for (let address = 0; address < 4; address++) take(shares, ["key 1", `${address}`], 99);
    expect(shares.taken()).toBe(8);
    expect(take(shares, ["key 2", "0"], 99)).toHaveLength(4);
    for (let address = 1; address < 9; address++) take(shares, ["key 2", `${address}`], 99);
    expect(take(shares, ["key 3", "0"], 1)).toHaveLength(1);
  });

  test("a caller above its fair share gets nothing back before the others have theirs", () => {
    const shares = createFairShares({ capacity: 4 });
    const hogs = take(shares, ["hog"], 4);
    const others = take(shares, ["b"], 2);
    hogs[0]?.give();
    expect(take(shares, ["hog"], 1)).toHaveLength(0);
    for (const share of others) share.give();
    hogs[1]?.give();
    expect(take(shares, ["hog"], 9)).toHaveLength(2);
  });

  test("is divided between groups first and within a group then", () => {
    const shares = createFairShares({ capacity: 12 });
    take(shares, ["key 1", "address 1"], 99);
    expect(take(shares, ["key 1", "address 2"], 99)).toHaveLength(0);
    take(shares, ["key 2", "address 1"], 2);
    expect(take(shares, ["key 2", "address 2"], 99)).toHaveLength(3);
    expect(take(shares, ["key 2", "address 1"], 99)).toHaveLength(1);
  });

  test("callers that start while evictable shares have everything take them from the caller with most, oldest first", () => {
    const refused: string[] = [];
    const shares = createFairShares({ capacity: 4, onRefused: () => refused.push("refused") });
    const evicted: number[] = [];
    const held = Array.from({ length: 4 }, (_, i) => {
      const share = shares.take(["hog"], 1, () => {
        evicted.push(i);
        held[i]?.give();
      });
      return share;
    });
    held[1]?.pin();
    expect(take(shares, ["b"], 99)).toHaveLength(2);
    expect(evicted).toEqual([0, 2]);
    expect(shares.taken()).toBe(4);
    expect(refused).toHaveLength(99);
  });

  /** Shares that give themselves back when they are evicted, noted by their number then. */
  const takeEvictable = (shares: ReturnType<typeof createFairShares>, path: readonly string[], times: number, evicted: number[]): void => {
    for (let i = 0; i < times; i++) {
      const share = shares.take(path, 1, () => {
        evicted.push(i);
        share?.give();
      });
    }
  };

  test("if nothing can be taken from the caller with most, it is taken from the next one above its fair share, and from no other", () => {
    const shares = createFairShares({ capacity: 12 });
    const evicted: number[] = [];
    take(shares, ["hog"], 7);
    takeEvictable(shares, ["b"], 5, evicted);
    expect(take(shares, ["c"], 9)).toHaveLength(4);
    expect(evicted).toEqual([0]);
    expect(shares.taken()).toBe(15);
  });

  test("within a group it is taken from the member with most evictable shares", () => {
    const shares = createFairShares({ capacity: 12 });
    const evicted: number[] = [];
    take(shares, ["hog", "1"], 9);
    takeEvictable(shares, ["hog", "2"], 3, evicted);
    expect(take(shares, ["b", "1"], 2)).toHaveLength(2);
    expect(evicted).toEqual([0, 1]);
    expect(shares.taken()).toBe(12);
  });

  test("a member of a level may be bounded by itself, also when there is room", () => {
    const shares = createFairShares({ capacity: 100, most: [6, 2] });
    expect(take(shares, ["a", "1"], 9)).toHaveLength(2);
    expect(take(shares, ["a", "2"], 9)).toHaveLength(2);
    take(shares, ["a", "3"], 9);
    expect(take(shares, ["a", "4"], 9)).toHaveLength(0);
    expect(take(shares, ["b", "1"], 9)).toHaveLength(2);
  });

  test("a share grows up to its bound, and is released once", () => {
    const shares = createFairShares({ capacity: 10 });
    const share = shares.take(["a"], 4);
    expect([share?.grow(6), share?.grow(1), shares.taken()]).toEqual([true, false, 10]);
    share?.give();
    share?.give();
    expect([share?.grow(1), shares.taken(), shares.callers()]).toEqual([false, 0, 0]);
  });

  test("whatever callers do, it is bounded, counted right, and forgets them in the end", () => {
    const step = fc.record({
      key: fc.nat(3),
      address: fc.nat(2),
      amount: fc.integer({ min: 1, max: 9 }),
      give: fc.boolean(),
      evictable: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 30 }), (steps, capacity) => {
        const shares = createFairShares({ capacity });
        let held: { share: Share; amount: number }[] = [];
        for (const { key, address, amount, give, evictable } of steps) {
          if (give) held.shift()?.share.give();
          const had = shares.hasRoom(amount);
          const evict = () => {
            held = held.filter((each) => each.share !== share);
            share?.give();
          };
          const share = shares.take([`${key}`, `${address}`], amount, evictable ? evict : undefined);
          if (share !== undefined) held.push({ share, amount });
          expect(share !== undefined || !had).toBe(true);
          expect(shares.taken()).toBe(held.reduce((sum, { amount }) => sum + amount, 0));
          expect(shares.taken()).toBeLessThanOrEqual(2 * capacity);
        }
        for (const { share } of held) share.give();
        held = [];
        expect([shares.taken(), shares.callers()]).toEqual([0, 0]);
      }),
    );
  });
});

test("a rate is available again in each interval, and shared fairly", () => {
  let now = 0;
  const rate = createFairRate({ clock: { now: () => now, monotonic: () => now }, capacity: 10, interval: 1_000 });
  expect([rate.spend(["a"], 10), rate.spend(["a"], 1), rate.spend(["b"], 5), rate.spend(["b"], 1)]).toEqual([true, false, true, false]);
  now = 1_000;
  expect(rate.spend(["a"], 10)).toBe(true);
});

test("a rate that others have used up still serves a caller below its share", () => {
  const rate = createFairRate({ clock: { now: () => 0, monotonic: () => 0 }, capacity: 12, interval: 1_000 });
  const spend = (address: string, times: number): number =>
    Array.from({ length: times }, () => rate.spend([address], 1)).filter(Boolean).length;
  expect(["1", "2", "3", "4"].map((address) => spend(address, 99))).toEqual([12, 6, 4, 3]);
  expect(spend("5", 2)).toBe(2);
  for (let i = 6; i <= 100; i++) expect(spend(`${i}`, 1)).toBe(1);
});
