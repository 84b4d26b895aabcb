import fc from "fast-check";
import { expect, test } from "vitest";
import { bringInRefills, dueInstants, instantAfter, MAX_CREDITS, type RefillSchedule } from "../../src/features/keys/refill.ts";

const at = (text: string): number => Date.parse(text);
const monthly = (refillDay: number): RefillSchedule => ({ interval: "monthly", amount: 10, refillDay });
const daily: RefillSchedule = { interval: "daily", amount: 10 };

test("[keys §1.9] daily is every day at 00:00 UTC", () => {
  expect(dueInstants(daily, at("2026-03-01T12:00:00Z"), at("2026-03-01T23:59:59.999Z")).count).toBe(0);
  expect(dueInstants(daily, at("2026-03-01T12:00:00Z"), at("2026-03-02T00:00:00Z"))).toEqual({
    count: 1,
    last: at("2026-03-02T00:00:00Z"),
  });
  expect(dueInstants(daily, at("2026-03-02T00:00:00Z"), at("2026-03-02T00:00:00Z")).count).toBe(0);
});

test.each([
  [31, "2026-02-01T00:00:00Z", "2026-02-28T00:00:00Z"],
  [31, "2024-02-01T00:00:00Z", "2024-02-29T00:00:00Z"],
  [30, "2026-02-01T00:00:00Z", "2026-02-28T00:00:00Z"],
  [31, "2026-04-01T00:00:00Z", "2026-04-30T00:00:00Z"],
  [15, "2026-12-16T00:00:00Z", "2027-01-15T00:00:00Z"],
  [1, "2026-12-16T00:00:00Z", "2027-01-01T00:00:00Z"],
])("[keys §1.9] monthly on day %i, configured at %s, is first due at %s", (day, mark, instant) => {
  expect(dueInstants(monthly(day), at(mark), at(instant) - 1).count).toBe(0);
  expect(dueInstants(monthly(day), at(mark), at(instant))).toEqual({ count: 1, last: at(instant) });
});

test("[keys §1.9] every schedule equals a calendar that is walked day by day over ten years", () => {
  const start = at("2023-06-15T07:30:00Z");
  const days = 3_653;
  const schedule = fc.oneof(fc.constant(daily), fc.integer({ min: 1, max: 31 }).map(monthly));
  const isDue = ({ interval, refillDay = 0 }: RefillSchedule, midnight: Date): boolean => {
    if (interval === "daily") return true;
    const tomorrow = new Date(midnight);
    tomorrow.setUTCDate(tomorrow.getUTCDate() + 1);
    const isLastDay = tomorrow.getUTCMonth() !== midnight.getUTCMonth();
    return midnight.getUTCDate() === refillDay || (isLastDay && midnight.getUTCDate() < refillDay);
  };
  fc.assert(
    fc.property(schedule, fc.nat(days * 86_400), fc.nat(days * 86_400), (each, a, b) => {
      const [mark, now] = [start + Math.min(a, b) * 1_000, start + Math.max(a, b) * 1_000];
      let count = 0;
      let last = mark;
      const midnight = new Date(mark);
      midnight.setUTCHours(0, 0, 0, 0);
      for (; midnight.getTime() <= now; midnight.setUTCDate(midnight.getUTCDate() + 1)) {
        if (midnight.getTime() <= mark || !isDue(each, midnight)) continue;
        count++;
        last = midnight.getTime();
      }
      expect(dueInstants(each, mark, now)).toEqual({ count, last });
    }),
    { numRuns: 300 },
  );
});

test("[keys §1.9] the amount is added once per instant, up to 2^53-1", () => {
  const mark = at("2026-01-01T00:00:00Z");
  const now = at("2026-01-04T00:00:00Z");
  expect(bringInRefills({ remaining: 7, refill: daily, refilledAt: mark }, now)).toEqual({ remaining: 37, refilledAt: now, count: 3 });
  expect(bringInRefills({ remaining: MAX_CREDITS - 5, refill: daily, refilledAt: mark }, now)?.remaining).toBe(MAX_CREDITS);
  expect(bringInRefills({ remaining: 0, refill: { ...daily, amount: MAX_CREDITS }, refilledAt: mark }, now)?.remaining).toBe(MAX_CREDITS);
  expect(bringInRefills({ remaining: 7, refill: daily, refilledAt: mark }, mark)).toBeUndefined();
  expect(bringInRefills({ remaining: 7 }, now)).toBeUndefined();
  expect(bringInRefills({ refill: daily, refilledAt: mark }, now)).toBeUndefined();
});

test("[management §2] the instant after a time is the next one that will be due", () => {
  const schedule = fc.oneof(fc.constant(daily), fc.integer({ min: 1, max: 31 }).map(monthly));
  const time = fc.integer({ min: at("2023-01-01T00:00:00Z"), max: at("2033-01-01T00:00:00Z") });
  fc.assert(
    fc.property(schedule, time, fc.integer({ min: 1, max: 40 }), (each, now, count) => {
      const instant = instantAfter(each, now, count);
      expect(dueInstants(each, now, instant)).toEqual({ count, last: instant });
      expect(dueInstants(each, now, instant - 1).count).toBe(count - 1);
    }),
  );
  expect(instantAfter(monthly(31), 0, 1e12)).toBeNaN();
});
