import { describe, expect, test } from "vitest";
import { UsageGranularity } from "../../gen/latchkey/v2/analytics_pb.ts";
import { readRange } from "../../ui/src/data/figures/timeRange.ts";
import { countLines, latencyLines } from "../../ui/src/data/figures/usageRows.ts";
import { readChoice } from "../../ui/src/design/tables/columnChoice.ts";
import { visibleRows } from "../../ui/src/design/tables/visibleRows.ts";
import { relativeTime, utcTime } from "../../ui/src/design/values/formatTime.ts";

test("rows of usage become one line for each group, the largest first, the rest as other", () => {
  const rows = [
    { time: 2, outcome: "VALID", count: 1 },
    { time: 1, outcome: "VALID", count: 2 },
    { time: 2, outcome: "DISABLED", count: 9 },
    { time: 1, other: true, count: 1 },
  ];
  expect(countLines(rows, "outcome")).toEqual({
    times: [1, 2],
    series: [
      { name: "DISABLED", values: [0, 9] },
      { name: "VALID", values: [2, 1] },
      { name: "other", values: [1, 0] },
    ],
  });
});

test("a time without events has no latency", () => {
  const { series } = latencyLines([
    { time: 1, count: 0 },
    { time: 2, count: 1, latencyP50: 3, latencyP95: 4, latencyP99: 5 },
  ]);
  expect(series).toEqual([
    { name: "p50", values: [undefined, 3] },
    { name: "p95", values: [undefined, 4] },
    { name: "p99", values: [undefined, 5] },
  ]);
});

describe("[console §3] the time range is in the URL", () => {
  const now = Date.UTC(2026, 10, 23, 4, 5, 6);
  const hour = 3_600_000;

  test("24 hours unless it says otherwise, up to the end of the running hour", () => {
    const end = Date.UTC(2026, 10, 23, 5);
    const day = { start: BigInt(end - 24 * hour), end: BigInt(end), granularity: UsageGranularity.HOUR };
    expect(readRange(new URLSearchParams(), now)).toEqual(day);
    expect(readRange(new URLSearchParams("range=nonsense"), now)).toEqual(day);
    expect(readRange(new URLSearchParams("start=5&end=5"), now)).toEqual(day);
    expect(readRange(new URLSearchParams("range=1h"), now).granularity).toBe(UsageGranularity.MINUTE);
  });

  test("a brushed range has the granularity that fits it", () => {
    expect(readRange(new URLSearchParams(`start=0&end=${12 * hour}`), now)).toEqual({
      start: 0n,
      end: BigInt(12 * hour),
      granularity: UsageGranularity.MINUTE,
    });
    expect(readRange(new URLSearchParams(`start=0&end=${90 * 24 * hour}`), now).granularity).toBe(UsageGranularity.DAY);
  });
});

describe("a long table holds the rows in view", () => {
  test.each([
    [1000, 0, 400, { from: 0, to: 20, above: 0, below: 39_200 }],
    [1000, 4000, 400, { from: 90, to: 120, above: 3600, below: 35_200 }],
    [1000, 39_600, 400, { from: 980, to: 1000, above: 39_200, below: 0 }],
    [0, 0, 400, { from: 0, to: 0, above: 0, below: 0 }],
  ])("%i rows, %i pixels down", (count, top, height, expected) => {
    expect(visibleRows(count, 40, top, height)).toEqual(expected);
  });
});

test("a stored choice of columns that no longer exist is the usual one", () => {
  const columns = [{ id: "a" }, { id: "b", optional: true as const }];
  expect([...readChoice(undefined, columns)]).toEqual(["a"]);
  expect([...readChoice("b", columns)]).toEqual(["b"]);
  expect([...readChoice("gone", columns)]).toEqual(["a"]);
});

test("[console §3] times show UTC", () => {
  expect(utcTime(1_795_000_000_000n)).toBe("2026-11-18 11:06:40 UTC");
  expect(relativeTime(0, 180_500)).toBe("3 minutes ago");
  expect(relativeTime(172_800_000, 0)).toBe("in 2 days");
});
