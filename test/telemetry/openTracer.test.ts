import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createEvents } from "../../src/platform/telemetry/events.ts";
import { createLog } from "../../src/platform/telemetry/log.ts";
import { activeSpan } from "../../src/platform/telemetry/tracing/activeSpan.ts";
import { openTracer, type TracerOptions } from "../../src/platform/telemetry/tracing/openTracer.ts";
import type { TraceHeaders } from "../../src/platform/telemetry/tracing/tracer.ts";
import { eventually } from "../support/eventually.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../support/otlpReceiver.ts";

const MOST_WAITING = 2_048;
const description = { name: "POST /v2/keys.verifyKey", attributes: {} };
const none: TraceHeaders = { traceparent: undefined, tracestate: undefined };
const traceId = "0af7651916cd43dd8448eb211c80319c";
const from = (flags: string) => ({ traceparent: `00-${traceId}-b7ad6b7169203331-${flags}`, tracestate: undefined });

/** A tracer and what becomes of its spans. */
const open = (options: Partial<TracerOptions> = {}) => {
  const spans = { exported: 0, dropped: 0 };
  const causes = new Set<string>();
  const tracer = openTracer({
    // This port is closed.
    url: "http://127.0.0.1:9/v1/traces",
    headers: {},
    sampler: "always_on",
    ratio: 1,
    serviceName: undefined,
    version: "1",
    attributes: {},
    onExported: (count) => {
      spans.exported += count;
    },
    onDropped: (count, cause) => {
      spans.dropped += count;
      causes.add(cause);
    },
    ...options,
  });
  const trace = (count: number) => {
    for (let i = 0; i < count; i++) tracer.begin(description, none, "req_1")?.end({}, undefined);
  };
  return { tracer, trace, spans, causes };
};

const withReceiver = async (run: (receiver: OtlpReceiver) => Promise<void>): Promise<void> => {
  const receiver = await startOtlpReceiver();
  try {
    await run(receiver);
  } finally {
    await receiver.close();
  }
};

const sampled = (sampler: string, ratio: number, headers = none) =>
  open({ sampler, ratio }).tracer.begin(description, headers, "req_1") !== undefined;

test.each([
  { sampler: "always_on", alone: true, traced: true, untraced: true },
  { sampler: "always_off", alone: false, traced: false, untraced: false },
  { sampler: "parentbased_always_on", alone: true, traced: true, untraced: false },
  { sampler: "parentbased_always_off", alone: false, traced: true, untraced: false },
])("$sampler: without a context $alone, with one that is traced $traced, with one that is not $untraced", (row) => {
  expect(sampled(row.sampler, 0.5)).toBe(row.alone);
  expect(sampled(row.sampler, 0.5, from("01"))).toBe(row.traced);
  expect(sampled(row.sampler, 0.5, from("00"))).toBe(row.untraced);
});

test.each(["traceidratio", "parentbased_traceidratio"])("%s traces about its share of the calls", (sampler) => {
  const { tracer } = open({ sampler, ratio: 0.25 });
  const count = Array.from({ length: 2_000 }, () => tracer.begin(description, none, "req_1")).filter(Boolean).length;
  // Eight standard deviations to either side.
  expect(count).toBeGreaterThan(345);
  expect(count).toBeLessThan(655);
});

test("traceidratio decides by the caller's trace id alone and ignores its flag", () => {
  expect([sampled("traceidratio", 0, from("01")), sampled("traceidratio", 1, from("00"))]).toEqual([false, true]);
});

test("a malformed context begins a trace of its own", () => {
  const { tracer } = open();
  const begun = (traceparent: string) => tracer.begin(description, { ...none, traceparent }, "req_1")?.run(activeSpan)?.traceId;
  expect(begun(`00-${traceId}-b7ad6b7169203331-01`)).toBe(traceId);
  expect(begun(`00-${traceId}-b7ad6b7169203331-01-more`)).toMatch(/^(?!0af7)[0-9a-f]{32}$/);
});

test("work for a call is in its trace until the call has its answer, and then in none", async () => {
  await withReceiver(async (receiver) => {
    const { tracer } = open({ url: receiver.url });
    const call = tracer.begin(description, none, "req_1");
    const operation = (name: string) => tracer.operation({ system: "sqlite", name }, async () => undefined);
    expect(activeSpan()).toBeUndefined();
    await call?.run(async () => {
      await operation("first");
      await setImmediate();
      await operation("second");
      expect(activeSpan()).toBeDefined();
      call.end({}, undefined);
      expect(activeSpan()).toBeUndefined();
      await operation("behind");
    });
    await operation("beside");
    await tracer.stop();
    const [first, second, server, ...more] = receiver.spans();
    expect([first, second]).toMatchObject(["first", "second"].map((name) => ({ name, parentSpanId: server?.spanId })));
    expect(more).toEqual([]);
  });
});

test("errors are rethrown, and the span names their class", async () => {
  await withReceiver(async (receiver) => {
    const { tracer, spans } = open({ url: receiver.url });
    const failing = tracer.operation({ system: "sqlite", name: "find", standsAlone: true }, () => Promise.reject(new RangeError("secret")));
    await expect(failing).rejects.toThrow("secret");
    await tracer.operation({ system: "sqlite", name: "find" }, async () => undefined);
    await tracer.stop();
    expect(receiver.spans()).toMatchObject([{ name: "find", kind: 3, isError: true, attributes: { "error.type": "RangeError" } }]);
    expect(spans).toEqual({ exported: 1, dropped: 0 });
  });
});

test("a collector that hangs holds a bounded number of spans, and stopping does not wait for it", async () => {
  await withReceiver(async (receiver) => {
    receiver.behave("hang");
    const { tracer, trace, spans, causes } = open({ url: receiver.url });
    trace(5_000);
    expect(spans).toEqual({ exported: 0, dropped: 5_000 - MOST_WAITING });
    expect([...causes]).toEqual(["too many wait for the collector"]);
    await tracer.stop();
    expect(spans).toEqual({ exported: 0, dropped: 5_000 });
    expect([...causes]).toContain("the service stopped");
  });
});

test("a collector that refuses spans has them dropped, and gets the next ones", async () => {
  await withReceiver(async (receiver) => {
    receiver.behave(400);
    const { tracer, trace, spans, causes } = open({ url: receiver.url });
    trace(300);
    await eventually(() => expect(spans).toEqual({ exported: 0, dropped: 300 }));
    expect([...causes]).toEqual(["Bad Request 400"]);
    receiver.behave(200);
    trace(2_000);
    await tracer.stop();
    expect(spans).toEqual({ exported: 2_000, dropped: 300 });
    expect(receiver.spans().length).toBe(2_000);
  });
});

test("repeatedly dropped spans are logged once, with their number", () => {
  const lines: Record<string, unknown>[] = [];
  const events = createEvents(createLog("info", { write: (line) => lines.push(JSON.parse(line)) }));
  for (let i = 0; i < 1_000; i++) events.spansDropped(128, "connect ECONNREFUSED");
  expect(lines).toMatchObject([{ level: "warn", msg: "trace spans dropped", cause: "connect ECONNREFUSED", dropped: 128 }]);
  events.sumUp();
  expect(lines.slice(1)).toMatchObject([{ msg: "more trace spans dropped", dropped: 128_000 }]);
});
