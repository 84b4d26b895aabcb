import { expect, test } from "vitest";
import { createEvents } from "../../src/platform/telemetry/events.ts";
import { createLog } from "../../src/platform/telemetry/log.ts";

const capture = (level = "info") => {
  const lines: string[] = [];
  const log = createLog(level, { write: (line) => lines.push(line) });
  return { log, lines, entries: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
};

test("an event is one line of JSON with level, time and message", () => {
  const { log, entries } = capture();
  createEvents(log).serviceStopping("SIGTERM");
  expect(entries()).toEqual([{ level: "info", time: expect.stringMatching(/^\d{4}-.*Z$/), reason: "SIGTERM", msg: "service stopping" }]);
});

test("a failed call shows its cause", () => {
  const { log, entries } = capture();
  createEvents(log).callFailed({ requestId: "req_1", procedure: "apis.getApi", reason: "unexpected_error", error: new Error("boom") });
  expect(entries()).toMatchObject([{ level: "error", requestId: "req_1", procedure: "apis.getApi", err: { message: "boom" } }]);
});

test("a background task that does not stop in time is named, with the time that it had", () => {
  const { log, entries } = capture();
  createEvents(log).backgroundTaskLate("audit log", 10_000);
  expect(entries()).toMatchObject([
    { level: "error", task: "audit log", milliseconds: 10_000, msg: "background task did not stop in time" },
  ]);
});

test("ended calls are written only at debug", () => {
  const facts = { requestId: "req_1", procedure: "keys.verifyKey", outcome: "ok", milliseconds: 1 };
  const quiet = capture("info");
  createEvents(quiet.log).callEnded(facts);
  expect(quiet.lines).toEqual([]);
  const loud = capture("debug");
  createEvents(loud.log).callEnded(facts);
  expect(loud.entries()).toMatchObject([facts]);
});

test("[protocol §1] credentials in a logged object are censored", () => {
  const { log, lines } = capture();
  log.info({
    authorization: "Bearer lkr_a",
    request: { headers: { authorization: "Bearer lkr_b" } },
    body: { key: "lkr_c" },
    err: { password: "d" },
  });
  expect(lines.join()).not.toMatch(/lkr_|"d"/);
});
