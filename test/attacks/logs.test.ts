// @same-on-every-engine
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { createEvents } from "../../src/platform/telemetry/events.ts";
import { createLog } from "../../src/platform/telemetry/log.ts";
import { startApi } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";

const capture = () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog("info", { write: (line) => lines.push(JSON.parse(line)) });
  return { log, lines };
};

describe("log lines that callers can repeat", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("is a line at once the first time, and one with their number in ten seconds after that", () => {
    const { log, lines } = capture();
    const { callFailed } = createEvents(log);
    const fail = (requestId: string) =>
      callFailed({ requestId, procedure: "apis.getApi", reason: "service_unavailable", error: new Error("away") });
    fail("req_1");
    expect(lines).toMatchObject([{ level: "error", requestId: "req_1", msg: "call failed", err: { message: "away" } }]);
    for (let i = 2; i <= 1_001; i++) fail(`req_${i}`);
    expect(lines).toHaveLength(1);
    vi.advanceTimersByTime(10_000);
    expect(lines.slice(1)).toMatchObject([
      {
        level: "error",
        requestId: "req_1001",
        procedure: "apis.getApi",
        reason: "service_unavailable",
        count: 1_000,
        msg: "more calls failed",
      },
    ]);
    expect(JSON.stringify(lines[1])).not.toContain("stack");
    vi.advanceTimersByTime(10_000);
    expect(lines).toHaveLength(2);
    fail("req_1002");
    expect(lines).toHaveLength(3);
  });

  test("does not hide another failure, and however many kinds there are, they are few lines", () => {
    const { log, lines } = capture();
    const { callFailed } = createEvents(log);
    for (let i = 0; i < 10_000; i++) {
      callFailed({ requestId: `req_${i}`, procedure: "apis.getApi", reason: "unexpected_error", error: new Error(`kind ${i % 1_000}`) });
    }
    vi.advanceTimersByTime(10_000);
    expect(lines.length).toBeLessThanOrEqual(42);
    expect(lines.reduce((sum, { count = 1 }) => sum + Number(count), 0)).toBe(10_000);
  });

  test("holds for background tasks and for refused callers, and counted events are logged when the service stops", () => {
    const { log, lines } = capture();
    const events = createEvents(log);
    for (let i = 0; i < 100; i++) {
      events.backgroundTaskFailed("changes feed", new Error("away"));
      events.refusedForOthers("calls");
    }
    expect(lines).toHaveLength(2);
    events.sumUp();
    expect(lines.slice(2)).toMatchObject([
      { task: "changes feed", count: 99 },
      { resource: "calls", count: 99 },
    ]);
  });
});

describe.each(engines)("a flood of calls that fail on $name", (engine) => {
  afterAll(() => engine.close());

  test("does not write a line for each", async () => {
    const { log, lines } = capture();
    const store = interceptStore(await engine.open(), async (operation, { collection, name }) => {
      if (collection === "apis" && name === "findOne") throw new Error("a defect");
      return operation();
    });
    const api = await startApi(engine, { store, log });
    const call = () => request(api.url, "apis.getApi", { rootKey: api.rootKey, body: { apiId: "api_missing" } });
    const answers = await Promise.all(Array.from({ length: 300 }, call));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([500]));
    await api.close();
    const failures = lines.filter(({ msg }) => /calls? failed/.test(String(msg)));
    expect(failures.length).toBeLessThan(10);
    expect(failures.reduce((sum, { count = 1 }) => sum + Number(count), 0)).toBe(300);
  });
});
