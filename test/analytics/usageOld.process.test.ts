// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UsageQuestion } from "../../src/features/analytics/usage/question.ts";
import type { ServiceError } from "../../src/platform/base/errors.ts";
import { openAnalytics, type Place, seed, ways } from "./places.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Noon, so that a few hours before lie in the same day. */
const today = Math.floor(Date.now() / DAY) * DAY - DAY + 12 * HOUR;

describe.each(ways)("[management §8] getUsage of times before single events are kept, on $name", (way) => {
  const old = today - 200 * DAY;
  const older = today - 800 * DAY;
  let place: Place;
  let analytics: ReturnType<typeof openAnalytics>;
  beforeAll(async () => {
    place = await way.open();
    await seed(place, {
      verifications: [old, old + 1, older, today].map((time) => ({ time, apiId: "api_a", tags: ["x"], spentCredits: 2 })),
      ratelimits: [
        ...[true, true, false].map((passed) => ({ time: today - 60 * DAY, identifier: "u", passed, tokens: 3 })),
        ...[true, false].map((passed) => ({ time: old, identifier: "u", passed, tokens: 5 })),
        { time: today, identifier: "u", passed: false, tokens: 7 },
      ],
    });
    analytics = openAnalytics(place, { retentionDays: 1_000 });
  });
  afterAll(async () => {
    await analytics.stop();
    await place.close();
  });

  const monthOf = (time: number) => Date.UTC(new Date(time).getUTCFullYear(), new Date(time).getUTCMonth());
  const dayOf = (time: number) => Math.floor(time / DAY) * DAY;
  const question = { filter: {}, orderBy: "time", limit: 100, groupBy: [], start: monthOf(older), end: today + 1 } as const;
  const usage = async (asked: Partial<UsageQuestion> & Pick<UsageQuestion, "kind" | "granularity">, scope?: readonly string[]) => {
    const rows = await analytics.usage({ question: { ...question, ...asked }, scope, now: today, signal: AbortSignal.timeout(60_000) });
    return rows.filter(({ count }) => count !== 0);
  };

  test.each([undefined, ["api_a"]])("verifications come from sums, each once (scope %s)", async (scope) => {
    const kind = "verifications";
    expect(await usage({ kind, granularity: "total" }, scope)).toMatchObject([{ count: 4, spentCredits: 8, latencyP50: 1 }]);
    expect(await usage({ kind, granularity: "total", end: today }, scope)).toEqual([{ count: 3, spentCredits: 6 }]);
    const months = await usage({ kind, granularity: "month", groupBy: ["tag"], filter: { tag: ["x"] } }, scope);
    expect(months.map(({ time, tag, count }) => [time, tag, count])).toEqual([
      [monthOf(older), "x", 1],
      [monthOf(old), "x", 2],
      [monthOf(today), "x", 1],
    ]);
    const days = await usage({ kind, granularity: "day", start: dayOf(old - DAY) }, scope);
    expect(days.map(({ time, count }) => [time, count])).toEqual([
      [dayOf(old), 2],
      [dayOf(today), 1],
    ]);
  });

  test.each([undefined, ["rlns_1"]])("rate limits tell passed and denied ones apart in sums as well (scope %s)", async (scope) => {
    const kind = "ratelimits";
    const granularity = "total";
    expect(await usage({ kind, granularity }, scope)).toEqual([{ count: 6, spentTokens: 11 }]);
    expect(await usage({ kind, granularity, groupBy: ["passed"] }, scope)).toEqual([
      { passed: false, count: 3, spentTokens: 0 },
      { passed: true, count: 3, spentTokens: 11 },
    ]);
    expect(await usage({ kind, granularity, filter: { passed: [false] } }, scope)).toEqual([{ count: 3, spentTokens: 0 }]);
    expect(await usage({ kind, granularity: "day", start: dayOf(today - 61 * DAY), filter: { passed: [true] } }, scope)).toEqual([
      { time: dayOf(today - 60 * DAY), count: 2, spentTokens: 6 },
    ]);
  });

  test("nothing outside of the scope is in them", async () => {
    expect(await usage({ kind: "verifications", granularity: "total" }, ["api_b"])).toEqual([]);
    expect(await usage({ kind: "ratelimits", granularity: "month", groupBy: ["passed"] }, ["rlns_2"])).toEqual([]);
  });

  const refused = async (asked: Partial<UsageQuestion> & Pick<UsageQuestion, "kind" | "granularity">) => {
    const error = await usage(asked).then(
      () => expect.unreachable(),
      (thrown: unknown) => thrown as ServiceError,
    );
    expect(error.reason).toBe("invalid_input");
    return error.violations.map(({ location, message }) => [location, message.split(": ").at(-1)]);
  };

  test("intervals shorter than what is known are refused, with the granularity that fits", async () => {
    const kind = "verifications";
    for (const granularity of ["minute", "hour"] as const) {
      const asked = { kind, granularity, start: dayOf(old), end: dayOf(old) + DAY } as const;
      expect(await refused(asked)).toEqual([["body.granularity", "the granularity day fits"]]);
    }
    const asked = { kind, granularity: "day", end: monthOf(older) + 20 * DAY } as const;
    expect((await refused(asked))[0]).toEqual(["body.granularity", "the granularity month fits"]);
  });

  test("a range that begins or ends within what is known as a whole only is refused, and never counted with its rest", async () => {
    const kind = "verifications";
    const granularity = "total";
    const start = dayOf(old);
    expect(await refused({ kind, granularity, start: start + 1 })).toEqual([["body.start", "want the start of a day in UTC"]]);
    expect(await refused({ kind, granularity, start, end: old + 1 })).toEqual([["body.end", "want the start of a day in UTC"]]);
    expect(await refused({ kind, granularity: "hour", start: start - 1, end: start + 1 })).toEqual([
      ["body.granularity", "the granularity day fits"],
      ["body.start", "want the start of a day in UTC"],
      ["body.end", "want the start of a day in UTC"],
    ]);
    expect(await usage({ kind, granularity, start, end: start + DAY })).toEqual([{ count: 2, spentCredits: 4 }]);
    expect(await usage({ kind, granularity, start: start + DAY, end: today })).toEqual([]);
  });

  test("where single events are there it is exact to the millisecond", async () => {
    const kind = "ratelimits";
    const granularity = "minute";
    expect(await usage({ kind, granularity, start: today, end: today + 1 })).toMatchObject([{ time: today, count: 1 }]);
    expect(await usage({ kind, granularity: "total", start: today + 1, end: today + 2 })).toEqual([]);
  });

  test("rate limit checks of days around the thirty-day bound are counted per hour", async () => {
    const year = [1, 2].map((more) => new Date(today).getUTCFullYear() + more).find((each) => each % 4 !== 0) ?? 0;
    const at = (month: number, day: number, hour: number, minute = 0): number => Date.UTC(year, month - 1, day, hour, minute);
    const now = at(3, 20, 9);
    const check = { requestId: "req", identifier: "hourly", latency: 1, overrideId: "", limit: 1, remaining: 0, resetAt: 0, tokens: 2 };
    for (const time of [at(2, 18, 15, 20), at(2, 18, 15, 59), at(2, 19, 0), at(2, 20, 12, 1)]) {
      analytics.recordRatelimit({ ...check, time, namespaceId: "rlns_1", passed: true });
    }
    const range = { start: at(2, 18, 10), end: at(2, 20, 12, 2), filter: { identifier: ["hourly"] } };
    const rows = async (granularity: UsageQuestion["granularity"], start = range.start) => {
      const asked = { ...question, ...range, start, kind: "ratelimits", granularity } as const;
      const found = await analytics.usage({ question: asked, scope: undefined, now, signal: AbortSignal.timeout(60_000) });
      return found.filter(({ count }) => count !== 0).map(({ time, count, spentTokens }) => [time, count, spentTokens]);
    };
    analytics.start();
    await expect.poll(() => rows("day", at(2, 20, 9)), { interval: 5_100 }).toEqual([[at(2, 20, 0), 1, 2]]);
    expect(await rows("hour")).toEqual([
      [at(2, 18, 15), 2, 4],
      [at(2, 19, 0), 1, 2],
      [at(2, 20, 12), 1, 2],
    ]);
    await expect(rows("minute")).rejects.toMatchObject({ violations: [{ message: expect.stringContaining("the granularity hour fits") }] });
    await expect(rows("hour", range.start + 1)).rejects.toMatchObject({ violations: [{ location: "body.start" }] });
  });
});
