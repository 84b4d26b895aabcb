import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createSharedGrants } from "../../src/features/verification/sharedGrants.ts";

const slugsOf = (n: number): string[] => [`documents.${n}.read`, `documents.${n}.write`];

test("those who hold the same permissions share one set, which weighs with none of them", () => {
  const grants = createSharedGrants(1_000_000);
  const [first, second] = [grants.of(["b", "a"]), grants.of(["a", "b"])];
  expect(second).toBe(first);
  expect(grants.weightOf(first)).toBe(0);
  expect(grants.bytes()).toBeGreaterThan(0);
});

test("shared sets never take more than their bytes; beyond that each counts for its holder", () => {
  const grants = createSharedGrants(10_000);
  const held = Array.from({ length: 1_000 }, (_, n) => grants.of(slugsOf(n)));
  expect(grants.bytes()).toBeLessThanOrEqual(10_000);
  const weights = held.map(grants.weightOf);
  expect(weights[0]).toBe(0);
  expect(weights.at(-1)).toBeGreaterThan(0);
  expect(grants.of(slugsOf(999))).not.toBe(held.at(-1));
});

test("a set of more than a hundred permissions counts for its holder", () => {
  const grants = createSharedGrants(1_000_000);
  const granted = grants.of(Array.from({ length: 101 }, (_, n) => `slug.${n}`));
  expect(grants.weightOf(granted)).toBeGreaterThan(0);
  expect(grants.bytes()).toBe(0);
});

test("a set without holders takes nothing", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const grants = createSharedGrants(1_000_000);
  for (let n = 0; n < 1_000; n++) grants.of(slugsOf(n));
  const kept = grants.of(["kept"]);
  const least = (() => {
    const alone = createSharedGrants(1_000_000);
    alone.of(["kept"]);
    return alone.bytes();
  })();
  const left = (): number => {
    collect();
    return grants.bytes();
  };
  await expect.poll(left, { timeout: 10_000 }).toBe(least);
  expect(grants.of(["kept"])).toBe(kept);
});
