import fc from "fast-check";
import { expect, test } from "vitest";
import { chunks } from "../../src/platform/util/chunks.ts";

test("runs keep the order, hold every item, and have the length that the limit allows", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20 })), fc.integer({ min: 1, max: 30 }), (items, limit) => {
      const runs = chunks(items, limit, (item) => item);
      expect(runs.flat()).toEqual(items);
      const weights = runs.map((run) => run.reduce((sum, item) => sum + item, 0));
      for (const [i, run] of runs.entries()) {
        if (run.length > 1) expect(weights[i]).toBeLessThanOrEqual(limit);
        if (i > 0) expect((weights[i - 1] ?? 0) + (run[0] ?? 0)).toBeGreaterThan(limit);
      }
    }),
  );
});

test("without weights every item counts one", () => {
  expect(chunks([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(chunks([], 2)).toEqual([]);
});
