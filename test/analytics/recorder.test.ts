import { describe, expect, test } from "vitest";
import { createDropReport } from "../../src/features/analytics/dropReport.ts";
import { EngineError, EngineUnavailableError } from "../../src/features/analytics/engineErrors.ts";
import { createRecorder, type Insert, type RecorderOptions } from "../../src/features/analytics/recorder.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { createTestClock } from "../support/testClock.ts";

const record = (insert: Insert, overrides: Partial<RecorderOptions<number>> = {}) => {
  const dropped: [number, unknown][] = [];
  const failures: unknown[] = [];
  const recorder = createRecorder<number>({
    clock: systemClock,
    capacity: { events: 100, bytes: 1_000_000 },
    retryAfterMs: 5,
    serialise: (event) => JSON.stringify([event]),
    insert,
    onDrop: (count, cause) => dropped.push([count, cause]),
    onInsert: () => undefined,
    onFailure: (error) => failures.push(error),
    ...overrides,
  });
  return { recorder, dropped, failures };
};

describe("[analytics §6] a recorder", () => {
  test("writes events in their order, batch after batch, and stopping writes the last", async () => {
    const written: string[] = [];
    const tokens = new Set<string>();
    const { recorder } = record(
      async (rows, token) => {
        written.push(...String(rows).trimEnd().split("\n"));
        tokens.add(token);
      },
      { capacity: { events: 100_000, bytes: 10_000_000 } },
    );
    for (let i = 0; i < 60_000; i++) recorder.record(i);
    expect(written).toEqual([]);
    await recorder.stop();
    expect(written).toEqual(Array.from({ length: 60_000 }, (_, i) => `[${i}]`));
    expect(tokens.size).toBe(3);
    expect(recorder.size()).toBe(0);
  });

  test("flushes by itself while it runs", async () => {
    const written: string[] = [];
    const { recorder } = record(async (rows) => void written.push(String(rows)));
    recorder.start();
    recorder.record(1);
    await expect.poll(() => written).toEqual(["[1]\n"]);
    recorder.record(2);
    await expect.poll(() => written).toEqual(["[1]\n", "[2]\n"]);
    await recorder.stop();
  });

  test("tries a batch again with the same rows under the same token, and later events wait behind it", async () => {
    const tries: [string, string][] = [];
    const { recorder, dropped, failures } = record(async (rows, token) => {
      tries.push([String(rows), token]);
      if (tries.length < 3) throw new EngineUnavailableError("away");
    });
    recorder.record(1);
    const stopped = recorder.stop();
    recorder.record(2);
    await stopped;
    expect(tries.map(([rows]) => rows)).toEqual(["[1]\n", "[1]\n", "[1]\n", "[2]\n"]);
    expect(new Set(tries.slice(0, 3).map(([, token]) => token)).size).toBe(1);
    expect(tries[3]?.[1]).not.toBe(tries[0]?.[1]);
    expect(failures).toHaveLength(2);
    expect(dropped).toEqual([]);
  });

  test("drops what it has no room for, and counts it", async () => {
    const gate = Promise.withResolvers<void>();
    let written = 0;
    const { recorder, dropped } = record(async (rows) => {
      await gate.promise;
      written += String(rows).trimEnd().split("\n").length;
    });
    for (let i = 0; i < 130; i++) recorder.record(i);
    expect(dropped).toHaveLength(30);
    expect(recorder.size()).toBe(100);
    const stopped = recorder.stop();
    // Events that are being written count as held.
    recorder.record(130);
    expect(dropped).toHaveLength(31);
    gate.resolve();
    await stopped;
    expect(written).toBe(100);
  });

  test("[management §6] dropped events leave a gap in the numbers of the rows", async () => {
    const written: string[] = [];
    const { recorder } = record(async (rows) => void written.push(...String(rows).trimEnd().split("\n")), {
      capacity: { events: 2, bytes: 1_000_000 },
      serialise: (event, seq) => JSON.stringify([event, seq]),
    });
    recorder.start();
    for (const event of [10, 20, 30, 40]) recorder.record(event);
    await expect.poll(() => recorder.size()).toBe(0);
    recorder.record(50);
    await recorder.stop();
    expect(written).toEqual(["[10,1]", "[20,2]", "[50,5]"]);
  });

  test("holds no more bytes than it may, and takes a row that is larger than a batch", async () => {
    const lengths: number[] = [];
    const { recorder, dropped } = record(async (rows) => void lengths.push(rows.length), {
      capacity: { events: 1_000, bytes: 8_000_000 },
      serialise: (size) => "ü".repeat(size),
    });
    recorder.record(10);
    recorder.record(3_000_000);
    recorder.record(20);
    recorder.record(1_200_000);
    recorder.record(30);
    await recorder.stop();
    expect(lengths).toEqual([21, 6_000_001 + 41, 2_400_001]);
    expect(dropped).toEqual([[1, undefined]]);
  });

  test("writes long rows in inserts that the engine takes, and in their order", async () => {
    const written: string[] = [];
    let longest = 0;
    const { recorder } = record(
      async (rows) => {
        longest = Math.max(longest, rows.length);
        written.push(
          ...String(rows)
            .trimEnd()
            .split("\n")
            .map((row) => row.slice(0, 8)),
        );
      },
      { capacity: { events: 10_000, bytes: 100_000_000 }, serialise: (event) => String(event).padStart(8) + "x".repeat(60_000) },
    );
    for (let i = 0; i < 1_000; i++) recorder.record(i);
    await recorder.stop();
    expect(written.map(Number)).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
    expect(longest).toBeLessThan(16 * 1024 ** 2);
  });

  test("a stopped one tries no more what the engine did not take in time, and that is dropped", async () => {
    let tries = 0;
    const insert: Insert = async () => {
      tries++;
      throw new EngineUnavailableError("away");
    };
    const { recorder, dropped } = record(insert, { stopMs: 50 });
    recorder.record(1);
    recorder.record(2);
    await recorder.stop();
    expect(dropped).toEqual([[2, undefined]]);
    const before = tries;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(tries).toBe(before);
  });

  test("gives up rows that the engine refuses for what they are, not those that meet a troubled engine", async () => {
    let tries = 0;
    const refusal = new EngineError(27, "cannot parse");
    const { recorder, dropped } = record(async () => {
      tries++;
      throw tries > 10 ? refusal : new EngineError(242, "read only");
    });
    recorder.record(1);
    await recorder.stop();
    expect(tries).toBe(15);
    expect(dropped).toEqual([[1, refusal]]);
  });
});

test("drops are logged at most once a minute, with their number", () => {
  const clock = createTestClock();
  const told: [number, unknown][] = [];
  const { add, report } = createDropReport(clock, (count, cause) => told.push([count, cause]));
  report();
  add(3, undefined);
  add(2, "full");
  report();
  add(7, undefined);
  report();
  clock.advance(59_999);
  report();
  expect(told).toEqual([[5, "full"]]);
  clock.advance(1);
  report();
  add(1, undefined);
  report(true);
  expect(told).toEqual([
    [5, "full"],
    [7, undefined],
    [1, undefined],
  ]);
});
