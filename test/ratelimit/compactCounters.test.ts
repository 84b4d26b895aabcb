import fc from "fast-check";
import { expect, test } from "vitest";
import { type CompactCounter, createCompactCounters } from "../../src/features/ratelimit/compactCounters.ts";

const TICK = 16;
const counterOf = (n: number): CompactCounter => ({
  seq: n * 1_000_003,
  current: n,
  previous: Number.MAX_SAFE_INTEGER - n,
  stored: n % 2 === 0,
  learnedAt: n % 5 === 0 ? Number.NEGATIVE_INFINITY : n * TICK,
});

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("put" as const), key: fc.nat(60), n: fc.nat(10_000), keepFor: fc.nat(400) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("take" as const), key: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("pass" as const), time: fc.nat(300) }) },
);

test("compact counters are what a map would keep, until they are due", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const compact = createCompactCounters();
      const model = new Map<number, { counter: CompactCounter; forgetAt: number }>();
      let now = 1_000;
      for (const each of steps) {
        if (each.do === "put") {
          const forgetAt = now + each.keepFor;
          compact.put(`key ${each.key}`, counterOf(each.n), forgetAt);
          model.set(each.key, { counter: counterOf(each.n), forgetAt });
        } else if (each.do === "take") {
          expect(compact.take(`key ${each.key}`)).toEqual(model.get(each.key)?.counter);
          model.delete(each.key);
        } else {
          now += each.time;
          compact.forget(Number.POSITIVE_INFINITY, now);
          for (const [key, { forgetAt }] of model) {
            if (Math.floor(now / TICK) >= Math.floor(forgetAt / TICK)) model.delete(key);
          }
        }
        expect(compact.size()).toBe(model.size);
      }
    }),
    { numRuns: 200 },
  );
});

test("many grow into larger tables and are found there, are forgotten in slices, and leave nothing", () => {
  const compact = createCompactCounters();
  const total = 50_000;
  for (let n = 0; n < total; n++) compact.put(`key ${n}`, counterOf(n), n % 2 === 0 ? 100 : 10_000);
  expect(compact.size()).toBe(total);
  for (let slice = 0; slice < 100; slice++) compact.forget(1_000, 1_000);
  expect(compact.size()).toBe(total / 2);
  for (let n = 0; n < total; n++) expect(compact.take(`key ${n}`)).toEqual(n % 2 === 0 ? undefined : counterOf(n));
  expect(compact.size()).toBe(0);
});
