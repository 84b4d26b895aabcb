import { describe, expect, test } from "vitest";
import { type Accuracy, boundsOf, LENGTHS, type Load, loads, rateOf, simulate } from "../../bench/limiterRuns/matrix.ts";
import { sized } from "../support/sized.ts";

const expectAccurate = (accuracy: Accuracy, rate: number, excess: number): void => {
  const { total, admitted, allowed, overAdmitted } = accuracy;
  const shown = JSON.stringify(accuracy);
  expect(overAdmitted, shown).toBe(0);
  expect(admitted, shown).toBeGreaterThanOrEqual(0.95 * allowed);
  const [lower, upper] = boundsOf(accuracy, rate, total, excess);
  expect(admitted, shown).toBeGreaterThanOrEqual(lower);
  expect(admitted, shown).toBeLessThanOrEqual(upper);
};

describe("the matrix", () => {
  // Three nodes make every mistake that five or nine make.
  test.each(
    sized(
      loads.filter(({ nodes }) => nodes <= 3),
      loads,
    ),
  )(
    "[ratelimit §13] $nodes nodes, $limit per $duration ms, load $factor: none over the limit, 95 % of what one node admits",
    async (load) => {
      const lengths = sized(LENGTHS.slice(0, 1), LENGTHS);
      for (const accuracy of await simulate(load, rateOf(load), lengths)) expectAccurate(accuracy, rateOf(load), 0.1 * load.nodes);
    },
  );

  const single: Load[] = [5, 100].flatMap((limit) =>
    [1_000, 5_000].flatMap((duration) => [0.9, 1, 10].map((factor) => ({ nodes: 1, limit, duration, factor }))),
  );

  test.each(single)("[ratelimit §13] one node over 50 windows, $limit per $duration ms, load $factor: within the bounds", async (load) => {
    const rate = Math.ceil((load.limit * load.factor * 1_000) / load.duration);
    for (const accuracy of await simulate(load, rate, [50])) expectAccurate(accuracy, rate, 0.2);
  });
});
