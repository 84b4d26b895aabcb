import { expect, test } from "vitest";
import { createMetrics } from "../../src/platform/telemetry/metrics.ts";

const create = () => createMetrics({ version: "1.2.3", engine: "embedded", ratelimitStoreDown: "allow" });

/** The samples of one metric, without those of the process. */
const samples = async (metrics: ReturnType<typeof create>, name: string): Promise<string[]> =>
  (await metrics.render()).split("\n").filter((line) => line.startsWith(name));

test("calls are counted and timed by edge and kind, and by procedure", async () => {
  const metrics = create();
  const record = metrics.calls({ name: "keys.verifyKey", kind: "verify" });
  record("v2", "ok", 0.2);
  record("v2", "ok", 40);
  record("grpc", "key_not_found", 1);
  record("grpc", "service_unavailable", 1);
  expect(await samples(metrics, "latchkey_calls_total{")).toEqual([
    'latchkey_calls_total{edge="v2",kind="verify",outcome="ok",status="2xx"} 2',
    'latchkey_calls_total{edge="grpc",kind="verify",outcome="key_not_found",status="4xx"} 1',
    'latchkey_calls_total{edge="grpc",kind="verify",outcome="service_unavailable",status="5xx"} 1',
  ]);
  const lines = await samples(metrics, "latchkey_call_duration_seconds");
  expect(lines).toContain('latchkey_call_duration_seconds_count{edge="v2",kind="verify"} 2');
  expect(lines).toContain('latchkey_call_duration_seconds_bucket{edge="v2",kind="verify",le="0.0005"} 1');
  expect(lines).toContain('latchkey_call_duration_seconds_bucket{edge="v2",kind="verify",le="0.05"} 2');
  expect(lines).toContain('latchkey_call_duration_seconds_count{edge="grpc",kind="verify"} 2');
  expect(await samples(metrics, "latchkey_procedure_duration_seconds")).toEqual([
    'latchkey_procedure_duration_seconds_sum{procedure="keys.verifyKey",outcome="ok"} 0.0402',
    'latchkey_procedure_duration_seconds_count{procedure="keys.verifyKey",outcome="ok"} 2',
    'latchkey_procedure_duration_seconds_sum{procedure="keys.verifyKey",outcome="key_not_found"} 0.001',
    'latchkey_procedure_duration_seconds_count{procedure="keys.verifyKey",outcome="key_not_found"} 1',
    'latchkey_procedure_duration_seconds_sum{procedure="keys.verifyKey",outcome="service_unavailable"} 0.001',
    'latchkey_procedure_duration_seconds_count{procedure="keys.verifyKey",outcome="service_unavailable"} 1',
  ]);
});

test("a call that an edge refuses is counted, and does not make calls look fast", async () => {
  const metrics = create();
  metrics.refused("connect", undefined, "procedure_not_found");
  expect(await samples(metrics, "latchkey_calls_total{")).toEqual([
    'latchkey_calls_total{edge="connect",kind="none",outcome="procedure_not_found",status="4xx"} 1',
  ]);
  expect(await samples(metrics, "latchkey_call_duration_seconds")).toEqual([]);
});

test("shared resources are shown with their limit before any is used", async () => {
  const metrics = create();
  metrics.capacityLimit("bodies", 1_000);
  expect(await samples(metrics, "latchkey_capacity_")).toEqual([
    'latchkey_capacity_taken{resource="bodies"} 0',
    'latchkey_capacity_limit{resource="bodies"} 1000',
    'latchkey_capacity_refused_total{resource="bodies"} 0',
  ]);
});

test("a gauge whose value is known elsewhere is read for each page", async () => {
  const metrics = create();
  let offset = 1.5;
  metrics.observe("clockOffset", () => [[[], offset]]);
  expect(await samples(metrics, "latchkey_clock_offset_seconds")).toEqual(["latchkey_clock_offset_seconds 1.5"]);
  offset = 0;
  expect(await samples(metrics, "latchkey_clock_offset_seconds")).toEqual(["latchkey_clock_offset_seconds 0"]);
});

test("verifications, rate limits and cache look-ups are counted, also over several readings", async () => {
  const metrics = create();
  metrics.verification("VALID");
  metrics.ratelimit(true, "memory", false);
  metrics.ratelimit(false, "store", false);
  metrics.ratelimit(true, "store", true);
  const cached = metrics.cache("verification");
  cached(true);
  cached(false);
  await metrics.render();
  metrics.verification("VALID");
  cached(true);
  expect(await samples(metrics, "latchkey_verifications_total{")).toEqual(['latchkey_verifications_total{code="VALID"} 2']);
  expect((await samples(metrics, "latchkey_ratelimit_decisions_total{")).filter((line) => !line.endsWith(" 0"))).toEqual([
    'latchkey_ratelimit_decisions_total{result="passed",source="memory"} 1',
    'latchkey_ratelimit_decisions_total{result="passed",source="store"} 1',
    'latchkey_ratelimit_decisions_total{result="denied",source="store"} 1',
  ]);
  // Nodes report checks of callers only: quotas and the workspace's own limit are checks of the service.
  expect(metrics.totals()).toMatchObject({ verifications: 2, limits: 2 });
  expect(await samples(metrics, "latchkey_cache_lookups_total{")).toEqual([
    'latchkey_cache_lookups_total{cache="verification",result="hit"} 2',
    'latchkey_cache_lookups_total{cache="verification",result="miss"} 1',
  ]);
});

test("the store's state and operations are shown", async () => {
  const metrics = create();
  metrics.storeOperation("keys", "findOne", "read", "unavailable", 12);
  metrics.storeState(true);
  expect(await samples(metrics, "latchkey_ratelimit_store_down{")).toEqual(['latchkey_ratelimit_store_down{policy="allow"} 0']);
  metrics.storeState(false);
  expect(await samples(metrics, "latchkey_ratelimit_store_down{")).toEqual(['latchkey_ratelimit_store_down{policy="allow"} 1']);
  expect(await samples(metrics, "latchkey_store_up{")).toEqual(['latchkey_store_up{engine="embedded"} 0']);
  expect(await samples(metrics, "latchkey_store_operation_duration_seconds_sum{")).toEqual([
    'latchkey_store_operation_duration_seconds_sum{kind="read"} 0.012',
  ]);
  expect(await samples(metrics, "latchkey_store_operations_total{")).toEqual([
    'latchkey_store_operations_total{collection="keys",operation="findOne",outcome="unavailable"} 1',
  ]);
});

test("version and process are described", async () => {
  const text = await create().render();
  expect(text).toContain(`latchkey_build_info{version="1.2.3",node="${process.versions.node}",engine="embedded"} 1`);
  expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m);
  expect(text).toMatch(/^process_resident_memory_bytes /m);
});

test("swept rows add up by kind, and waiting ones are as last counted", async () => {
  const metrics = create();
  metrics.swept("keys", 100);
  metrics.swept("keys", 20);
  metrics.sweepDue("apis", 2);
  metrics.sweepDue("apis", 1);
  expect(await samples(metrics, "latchkey_swept_total{")).toEqual(['latchkey_swept_total{kind="keys"} 120']);
  expect(await samples(metrics, "latchkey_sweep_due{")).toEqual(['latchkey_sweep_due{collection="apis"} 1']);
});

test("every line is one of the text format: a head once for each metric, then its samples", async () => {
  const metrics = create();
  metrics.calls({ name: 'odd "name"\\\n', kind: "read" })("v2", "ok", 1);
  const text = await metrics.render();
  expect(text.endsWith("\n")).toBe(true);
  const lines = text.split("\n").filter((line) => line !== "");
  for (const line of lines)
    expect(line).toMatch(/^# (HELP|TYPE) [a-z_:0-9]+ .+$|^[a-z_:0-9]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)+\})? [-+0-9.eInfNa]+$/);
  const heads = lines.filter((line) => line.startsWith("# TYPE"));
  expect(new Set(heads).size).toBe(heads.length);
  expect(text).toContain('procedure="odd \\"name\\"\\\\\\n"');
});
