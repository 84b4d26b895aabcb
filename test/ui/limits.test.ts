import { describe, expect, test } from "vitest";
import { UsageKind } from "../../gen/latchkey/v2/analytics_pb.ts";
import { readDuration } from "../../ui/src/data/readInput.ts";
import { formatDuration } from "../../ui/src/design/values/formatDuration.ts";
import { busiestRows } from "../../ui/src/pages/namespaceDetail/identifiers/busiestRows.ts";
import { windowShape } from "../../ui/src/pages/namespaceDetail/identifiers/windowShape.ts";
import { changesOf } from "../../ui/src/pages/namespaceDetail/overrides/overrideDraft.ts";
import { matchCounts, previewMatches } from "../../ui/src/pages/namespaceDetail/overrides/previewMatches.ts";
import { checksOf, checksQuery, mostFrequent, usualDuration } from "../../ui/src/pages/namespaceDetail/whatIf/checkEvents.ts";
import { type CheckEvent, replay } from "../../ui/src/pages/namespaceDetail/whatIf/replay.ts";
import { kept, noEvents, withArrived } from "../../ui/src/pages/tail/tailEvents.ts";
import { readFollowed } from "../../ui/src/pages/tail/tailRequest.ts";

const overrides = [{ identifier: "premium_*" }, { identifier: "premium_7" }, { identifier: "blocked" }];

describe("[console §3] overrides with a preview of which identifiers match", () => {
  test("says what each identifier is limited by now, and what a more exact override keeps", () => {
    const seen = ["premium_1", "premium_7", "free_1"];
    expect(previewMatches("*_1", overrides, seen)).toEqual({
      applies: [{ identifier: "free_1", instead: undefined }],
      kept: [{ identifier: "premium_1", by: "premium_*" }],
    });
    expect(previewMatches("premium_1", overrides, seen)).toEqual({
      applies: [{ identifier: "premium_1", instead: "premium_*" }],
      kept: [],
    });
  });

  test("an override that is edited competes with the others only", () => {
    expect(previewMatches("premium_*", overrides, ["premium_1", "premium_7"])).toEqual({
      applies: [{ identifier: "premium_1", instead: "premium_*" }],
      kept: [{ identifier: "premium_7", by: "premium_7" }],
    });
  });

  test("each identifier counts for the one override that limits it", () => {
    expect(matchCounts(overrides, ["premium_1", "premium_2", "premium_7", "free_1"])).toEqual(
      new Map([
        ["premium_*", 2],
        ["premium_7", 1],
      ]),
    );
  });

  test("before → after: a new one has no before, one that stays as it was no change", () => {
    const stored = { identifier: "a*", limit: 10n, duration: 60_000n };
    expect(changesOf(undefined, { identifier: "a*", limit: "0", duration: "90s" })).toEqual([
      { field: "identifier", before: undefined, after: "a*" },
      { field: "limit", before: undefined, after: "0 (blocks)" },
      { field: "duration", before: undefined, after: "90 seconds" },
    ]);
    expect(changesOf(stored, { identifier: "a*", limit: "1,000", duration: "1m" })).toEqual([
      { field: "limit", before: "10", after: "1,000" },
    ]);
    expect(changesOf(stored, { identifier: "a*", limit: "10", duration: "60000" })).toEqual([]);
  });
});

describe("[console §3] the effect of another limit", () => {
  const start = 1_800_000_000_000;
  const check = (at: number, passed = true, identifier = "a", tokens = 1): CheckEvent => ({ time: start + at, identifier, tokens, passed });
  const run = (events: readonly CheckEvent[], limit: number) => replay(events, { limit, duration: 60_000 }, new AbortController().signal);

  test("[ratelimit §3] the window before keeps its weight, and denied checks never count", async () => {
    const full = Array.from({ length: 12 }, (_, index) => check(index));
    // Half of the ten that passed still weighs in the middle of the next window: 5 + 6 > 10.
    const later = Array.from({ length: 6 }, () => check(90_000));
    const result = await run([...full, ...later], 10);
    expect(result).toMatchObject({ checks: 18, deniedThen: 0, deniedNow: 3 });
    expect(result?.minutes).toEqual([
      { time: start, checks: 12, deniedThen: 0, deniedNow: 2 },
      { time: start + 60_000, checks: 6, deniedThen: 0, deniedNow: 1 },
    ]);
    const apart = await run([check(0), check(180_000)], 10);
    expect(apart?.minutes.map(({ checks }) => checks)).toEqual([1, 0, 0, 1]);
  });

  test("each identifier has its own counter; costs count, peeks do not", async () => {
    const events = [
      check(0, true, "a", 5),
      check(1, false, "b", 6),
      check(2, true, "a", 0),
      check(3, true, "a", 1),
      check(4, true, "b", 5),
    ];
    expect((await run(events, 5))?.identifiers).toEqual([
      { identifier: "a", checks: 3, deniedThen: 0, deniedNow: 1 },
      { identifier: "b", checks: 2, deniedThen: 1, deniedNow: 1 },
    ]);
    expect((await run(events, 0))?.deniedNow).toBe(4);
  });

  test("many events go in slices, and stop when something else is asked", async () => {
    const events = Array.from({ length: 10_000 }, (_, index) => check(index));
    expect((await run(events, 4000))?.deniedNow).toBe(6000);
    const abort = new AbortController();
    const stopped = replay(events, { limit: 1, duration: 1000 }, abort.signal);
    abort.abort();
    expect(await stopped).toBeUndefined();
  });

  test("the length of the windows is read from where they ended", () => {
    const judged = (at: number, reset: number) => ({ ...check(at), limit: 1, reset: start + reset });
    const minutely = [judged(59_000, 60_000), judged(59_500, 60_000), judged(61_000, 120_000)];
    expect(usualDuration([...minutely, judged(0, 3_600_000)])).toBe(60_000);
    expect(usualDuration([judged(0, 7)])).toBe(60_000);
    expect(usualDuration([judged(10, 1000)])).toBe(1000);
  });

  test("events are chosen as overrides choose, and the query cannot be left by an id", () => {
    const events = ["user_1", "user_2", "other"].map((identifier) => ({ ...check(0, true, identifier), limit: 1, reset: 0 }));
    expect(checksOf(events, "user_*")).toHaveLength(2);
    expect(checksOf(events, "")).toHaveLength(3);
    expect(mostFrequent([1, 2, 2])).toBe(2);
    expect(mostFrequent([])).toBeUndefined();
    expect(checksQuery("x' OR '1", start)).toContain("namespace_id = 'x\\' OR \\'1' AND");
  });
});

describe("live counters", () => {
  const listed = { duration: 60_000, current: 4, previous: 10, reset: 1_800_000_060_000 };

  test("show what counts at this moment", () => {
    expect(windowShape(listed, 1_800_000_030_000)).toEqual({ current: 4, previous: 10, used: 9, elapsed: 0.5 });
  });

  test("move on with the clock until they are read again", () => {
    expect(windowShape(listed, 1_800_000_060_000)).toEqual({ current: 0, previous: 4, used: 4, elapsed: 0 });
    expect(windowShape(listed, 1_800_000_200_000)).toMatchObject({ current: 0, previous: 0, used: 0 });
  });

  test("start with their window where the reader's clock lags", () => {
    expect(windowShape(listed, 1_799_000_000_000)).toEqual({ current: 4, previous: 10, used: 14, elapsed: 0 });
  });
});

test("usage by identifier and result becomes one row each, the busiest first", () => {
  expect(
    busiestRows([
      { identifier: "a", passed: true, count: 3, spentTokens: 3 },
      { identifier: "b", passed: true, count: 4, spentTokens: 8 },
      { identifier: "a", passed: false, count: 2, spentTokens: 2 },
      { other: true, count: 9 },
    ]),
  ).toEqual([
    { identifier: "a", passed: 3, denied: 2, tokens: 5 },
    { identifier: "b", passed: 4, denied: 0, tokens: 8 },
  ]);
});

describe("durations as people write them", () => {
  test.each([
    ["60000", 60_000],
    ["90s", 90_000],
    ["1 h", 3_600_000],
    ["30d", 2_592_000_000],
  ])("%j", (text, read) => expect(readDuration(text)).toBe(BigInt(read)));

  test.each([
    ["", undefined],
    ["s", "invalid"],
    ["1 week", "invalid"],
  ])("%j", (text, read) => expect(readDuration(text)).toBe(read));

  test.each([
    [60_000, "1 minute"],
    [90_000, "90 seconds"],
    [172_800_000, "2 days"],
    [1500, "1,500 ms"],
    [0, "0 ms"],
  ])("%j", (duration, shown) => expect(formatDuration(duration)).toBe(shown));
});

describe("[console §3] the tail", () => {
  test("the followed events are in the URL", () => {
    expect(readFollowed(new URLSearchParams("outcome=VALID&identifier=a"))).toEqual({
      kind: UsageKind.VERIFICATIONS,
      filter: { outcome: { values: ["VALID"] } },
    });
    expect(readFollowed(new URLSearchParams("kind=ratelimits&outcome=VALID&identifier=a&passed=false"))).toEqual({
      kind: UsageKind.RATELIMITS,
      filter: { identifier: { values: ["a"] }, passed: { values: [false] } },
    });
  });

  test("a pause holds events that arrive, and resuming shows them in order", () => {
    const first = withArrived(noEvents, [{ n: 1 }, { n: 2 }], 0n, false);
    const held = withArrived(first, [{ n: 3 }], 2n, true);
    expect(held.shown).toEqual(first.shown);
    expect(held.held).toHaveLength(1);
    const on = withArrived(held, [], 0n, false);
    expect(on.shown.map(({ columns, number }) => [columns.n, number])).toEqual([
      [3, 3],
      [2, 2],
      [1, 1],
    ]);
    expect(on).toMatchObject({ held: [], dropped: 2n });
  });

  test("a page that stays open does not grow for ever", () => {
    const many = Array.from({ length: 400 }, (_, n) => ({ n }));
    let events = noEvents;
    for (let round = 0; round < 3; round += 1) events = withArrived(events, many, 0n, false);
    expect(events.shown).toHaveLength(kept);
    expect(events.shown[0]?.number).toBe(1200);
  });
});
