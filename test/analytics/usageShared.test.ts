import { describe, expect, test } from "vitest";
import { EngineError, EngineUnavailableError } from "../../src/features/analytics/engineErrors.ts";
import type { JsonObject } from "../../src/features/analytics/json.ts";
import { createUsage, type UsageCall } from "../../src/features/analytics/usage/createUsage.ts";
import type { UsageQuestion } from "../../src/features/analytics/usage/question.ts";
import { createSharedAnswers } from "../../src/features/analytics/usage/sharedAnswers.ts";
import { createTestClock } from "../support/testClock.ts";

const NOW = 1_750_000_000_000;
const question: UsageQuestion = {
  ...{ kind: "verifications", start: NOW - 1_000, end: NOW, granularity: "total", groupBy: [], filter: {}, orderBy: "time", limit: 100 },
};

/** Answers each question with how many statements have run. */
const setUp = (fail?: Error) => {
  const clock = createTestClock(NOW);
  const statements: string[] = [];
  let isolated = true;
  const usage = createUsage({
    clock,
    database: "latchkey",
    ready: async () => undefined,
    isIsolated: async () => isolated,
    execution: {
      inTurn: (task) => task(),
      execute: async (sql) => {
        statements.push(sql);
        if (fail) throw fail;
        return [{ bucket: 0, position: 1, count: statements.length, spent_sum: 0, latencies: [1.23456, null, null] }];
      },
    },
    retentionDays: 30,
    querySeconds: 10,
  });
  const ask = (changed: Partial<UsageQuestion> = {}, call: Partial<UsageCall> = {}): Promise<JsonObject[]> =>
    usage({ question: { ...question, ...changed }, scope: undefined, now: clock.now(), signal: new AbortController().signal, ...call });
  return { clock, statements, ask, leak: () => (isolated = false) };
};

describe("[management §6] equal questions", () => {
  test("share one answer within 5 s, at the same time and one after the other", async () => {
    const { clock, statements, ask } = setUp();
    const answers = await Promise.all([ask(), ask()]);
    clock.advance(4_999);
    answers.push(await ask());
    expect([answers.map(([row]) => row?.count), statements.length]).toEqual([[1, 1, 1], 1]);
    clock.advance(1);
    expect((await ask())[0]?.count).toBe(2);
  });

  test("share none when anything differs, the scope included", async () => {
    const { statements, ask } = setUp();
    const others: Partial<UsageQuestion>[] = [
      ...[{}, { start: NOW - 999 }, { end: NOW + 1 }, { granularity: "day" as const }, { orderBy: "count" as const }],
      ...[{ limit: 99 }, { filter: { apiId: ["a"] } }, { filter: { keyId: ["a"] } }, { filter: { keyId: [] } }],
    ];
    for (const other of others) await ask(other);
    await ask({}, { scope: ["api_a"] });
    await ask({}, { scope: ["api_a", "api_b"] });
    await ask({}, { scope: ["api_b"] });
    expect(statements).toHaveLength(others.length + 3);
    await ask({}, { scope: ["api_b", "api_a"] });
    expect(statements).toHaveLength(others.length + 3);
  });

  test("share no failure", async () => {
    const { statements, ask } = setUp(new EngineUnavailableError("away"));
    for (let i = 0; i < 2; i++) await expect(ask()).rejects.toMatchObject({ reason: "analytics_connection_failed" });
    expect(statements).toHaveLength(2);
  });

  test("a caller that leaves ends the work only when no other caller waits for it", async () => {
    const ends: AbortSignal[] = [];
    const { promise, resolve } = Promise.withResolvers<string>();
    const shared = createSharedAnswers<string>({
      clock: createTestClock(),
      keepMs: 5_000,
      maxWeight: 10,
      weightOf: ({ length }) => length,
    });
    const run = (signal: AbortSignal): Promise<string> => {
      ends.push(signal);
      return promise;
    };
    const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
    const [one, two] = [shared("q", first.signal, run), shared("q", second.signal, run)];
    first.abort(new Error("gone"));
    await expect(one).rejects.toThrow("gone");
    expect(ends.map(({ aborted }) => aborted)).toEqual([false]);
    second.abort(new Error("gone too"));
    await expect(two).rejects.toThrow("gone too");
    expect(ends.map(({ aborted }) => aborted)).toEqual([true]);
    const three = shared("q", third.signal, run);
    resolve("answer");
    expect([await three, ends.length]).toEqual(["answer", 2]);
    await expect(shared("q", AbortSignal.abort(new Error("left")), run)).rejects.toThrow("left");
  });

  test("kept answers are bounded: the oldest are dropped first", async () => {
    const shared = createSharedAnswers<string>({
      clock: createTestClock(),
      keepMs: 5_000,
      maxWeight: 10,
      weightOf: ({ length }) => length,
    });
    let runs = 0;
    const ask = (key: string) =>
      shared(key, new AbortController().signal, async () => {
        runs++;
        return "12345";
      });
    for (const key of ["a", "b", "c"]) await ask(key);
    for (const key of ["b", "c"]) await ask(key);
    expect(runs).toBe(3);
    await ask("a");
    expect(runs).toBe(4);
  });
});

/** Finds this number of groups without events, each with a name of 512 characters. */
const withGroups = (count: number) => {
  const statements: string[] = [];
  const groups = Array.from({ length: count }, (_, i) => ({ id: String(i), f_keyId: "k".repeat(512), total: 1 }));
  const usage = createUsage({
    clock: createTestClock(NOW),
    database: "latchkey",
    ready: async () => undefined,
    isIsolated: async () => true,
    execution: {
      inTurn: (task) => task(),
      execute: async (sql) => {
        statements.push(sql);
        return sql.includes(" AS bucket") ? [] : groups;
      },
    },
    retentionDays: 30,
    querySeconds: 10,
  });
  const ask = (changed: Partial<UsageQuestion>): Promise<JsonObject[]> => {
    const asked = { ...question, groupBy: ["keyId"] as const, limit: 1_000, ...changed };
    return usage({ question: asked, scope: undefined, now: NOW, signal: new AbortController().signal });
  };
  return { ask, statements };
};

describe("[management §6] getUsage", () => {
  test("shows latencies to the microsecond, and none that there are not", async () => {
    expect(await setUp().ask()).toEqual([{ count: 1, spentCredits: 0, latencyP50: 1.235 }]);
  });

  test("refuses scoped root keys with 412 where the engine does not keep them to their ids, and no others", async () => {
    const { ask, leak, statements } = setUp();
    leak();
    await expect(ask({}, { scope: ["api_a"] })).rejects.toMatchObject({ reason: "analytics_not_configured" });
    expect(statements).toEqual([]);
    expect(await ask()).toHaveLength(1);
  });

  test.each([
    [159, "query_execution_timeout"],
    [241, "query_memory_limit_exceeded"],
    [158, "query_rows_limit_exceeded"],
    [202, "analytics_connection_failed"],
  ])("error %i of the engine is %s", async (code, reason) => {
    await expect(setUp(new EngineError(code, "no")).ask()).rejects.toMatchObject({ reason });
  });

  test("a statement of ours that the engine does not take is no fault of the caller's", async () => {
    const error = new EngineError(62, "syntax");
    await expect(setUp(error).ask()).rejects.toBe(error);
  });

  test("an answer of more than 4 MiB is refused", async () => {
    const { ask } = withGroups(1_000);
    await expect(ask({ granularity: "hour", start: NOW - 9 * 3_600_000 })).rejects.toMatchObject({ reason: "query_memory_limit_exceeded" });
    expect(await ask({})).toHaveLength(1_000);
  });

  test("answers are kept by what they weigh in bytes: a few large ones push out the oldest, small ones do not", async () => {
    const large = withGroups(1_000);
    for (let i = 0; i < 30; i++) await large.ask({ start: NOW - 1_000 - i });
    const { length } = large.statements;
    await large.ask({ start: NOW - 1_029 });
    expect(large.statements).toHaveLength(length);
    await large.ask({ start: NOW - 1_000 });
    expect(large.statements).toHaveLength(length + 2);
    const small = withGroups(1);
    for (let i = 0; i < 1_000; i++) await small.ask({ start: NOW - 1_000 - i });
    await small.ask({ start: NOW - 1_000 });
    expect(small.statements).toHaveLength(2_000);
  });

  test("more intervals than there may be cells are refused before anything is read", async () => {
    const { ask, statements } = withGroups(1);
    const start = NOW - 10 * 86_400_000;
    const end = start + 10_000 * 60_000;
    await expect(ask({ granularity: "minute", start, end: end + 60_000 })).rejects.toMatchObject({
      reason: "invalid_input",
      violations: [{ location: "body.granularity", message: expect.stringContaining("the granularity hour fits") }],
    });
    expect(statements).toEqual([]);
    const whole = { start: Math.ceil(start / 60_000) * 60_000, end: Math.floor(end / 60_000) * 60_000 };
    expect(await ask({ granularity: "minute", groupBy: [], ...whole })).toHaveLength((whole.end - whole.start) / 60_000);
    expect(statements).toHaveLength(1);
  });
});
