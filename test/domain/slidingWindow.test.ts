import fc from "fast-check";
import { expect, test } from "vitest";
import { roomFrom, weightedPrevious, windowAt, windowEnd } from "../../src/platform/storage/counters/slidingWindow.ts";

const D = 10_000;

test.each([
  [9, 0, 0, 1, 10, true],
  [10, 0, 0, 0, 10, true],
  [10, 0, 0, 1, 10, false],
  [5, 10, 0.5, 1, 10, false],
  [5, 10, 0.99, 1, 10, true],
  [0, 0, 0, 100, 10, false],
])(
  "[ratelimit §3] current %i, previous %i, elapsed %d, cost %i of limit %i: passes is %s",
  (current, previous, elapsed, cost, limit, passes) => {
    const now = 5 * D + elapsed * D;
    expect(current + weightedPrevious(previous, now, D) + cost <= limit).toBe(passes);
  },
);

test("[ratelimit §3] the weight of the previous window is exact where a fraction would lose a unit", () => {
  expect(weightedPrevious(10, 800, 1_000)).toBe(2);
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.integer({ min: 1_000, max: 2_592_000_000 }), fc.nat(), (previous, duration, offset) => {
      const elapsed = offset % duration;
      const exact = (BigInt(previous) * BigInt(duration - elapsed)) / BigInt(duration);
      expect(BigInt(weightedPrevious(previous, 3 * duration + elapsed, duration))).toBe(exact);
    }),
  );
});

test("[ratelimit §3] windows are aligned to the Unix epoch and end at a multiple of the duration", () => {
  expect(windowAt(0, D)).toBe(0);
  expect(windowAt(D - 1, D)).toBe(0);
  expect(windowAt(D, D)).toBe(1);
  expect(windowEnd(D, D)).toBe(2 * D);
  expect(windowEnd(2 * D - 1, D)).toBe(2 * D);
});

test("[management §2] a limit has room again from the first moment at which the windows weigh little enough", () => {
  const count = fc.integer({ min: 0, max: 20 });
  fc.assert(
    fc.property(count, count, count, fc.integer({ min: 0, max: 49 }), (current, previous, most, elapsed) => {
      const duration = 50;
      const now = 5 * duration + elapsed;
      const used = (time: number): number => {
        const later = windowAt(time, duration) - 5;
        if (later === 0) return current + weightedPrevious(previous, time, duration);
        return later === 1 ? weightedPrevious(current, time, duration) : 0;
      };
      let first = now;
      while (used(first) > most) first++;
      expect(roomFrom(current, previous, most, now, duration, 10 * duration)).toBe(first);
      expect(roomFrom(current, previous, most, now, duration, first)).toBe(first);
      if (first > now) expect(roomFrom(current, previous, most, now, duration, first - 1)).toBeUndefined();
    }),
    { numRuns: 1_000 },
  );
});
