import { expect, test } from "vitest";
import { memorySize } from "../../src/platform/cache/memorySize.ts";

test("counts texts by their length, and everything that hangs on a value", () => {
  expect(memorySize("x".repeat(1_000))).toBeGreaterThan(1_000);
  const nested = { a: ["x".repeat(1_000)], b: new Map([["k", "y".repeat(1_000)]]), c: new Set(["z".repeat(1_000)]) };
  expect(memorySize(nested)).toBeGreaterThan(3_000);
  expect(memorySize(nested)).toBeLessThan(3_500);
});

test("counts texts beyond Latin-1 double", () => {
  expect(memorySize("é".repeat(1_000))).toBeLessThan(1_100);
  expect(memorySize("€".repeat(1_000))).toBeGreaterThan(2_000);
});

test("takes everything that a document can hold", () => {
  for (const value of [null, undefined, true, 1, 1n, Number.NaN, () => 1, Symbol("s"), [], {}])
    expect(memorySize(value)).toBeGreaterThanOrEqual(0);
});
