import { expect, test } from "vitest";
import { createMetrics } from "../../src/telemetry/metrics.ts";

const create = () => createMetrics({ version: "1.2.3", engine: "embedded", ratelimitStoreDown: "allow", clockOffset: () => 1_500 });

/** The samples of one metric, without those of the process. */
const samples = async (metrics: ReturnType<typeof create>, name: string): Promise<string[]> =>
  (await metrics.render()).split("\n").filter((line) => line.startsWith(name));

test("calls are counted and timed by procedure and outcome", async () => {
  const metrics = create();
  const record = metrics.calls("keys.verifyKey");
  record("ok", 0.2);
  record("ok", 40);
  record("key_not_found", 1);
  const lines = await samples(metrics, "latchkey_call_duration_seconds");
  expect(lines).toContain('latchkey_call_duration_seconds_count{procedure="keys.verifyKey",outcome="ok"} 2');
  expect(lines).toContain('latchkey_call_duration_seconds_bucket{procedure="keys.verifyKey",outcome="ok",le="0.0005"} 1');
  expect(lines).toContain('latchkey_call_duration_seconds_bucket{procedure="keys.verifyKey",outcome="ok",le="0.05"} 2');
  expect(lines).toContain('latchkey_call_duration_seconds_count{procedure="keys.verifyKey",outcome="key_not_found"} 1');
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
  expect(await samples(metrics, "latchkey_ratelimit_decisions_total{")).toEqual([
    'latchkey_ratelimit_decisions_total{result="passed",source="memory"} 1',
    'latchkey_ratelimit_decisions_total{result="denied",source="store"} 1',
    'latchkey_ratelimit_decisions_total{result="passed",source="store"} 1',
  ]);
  // What a node tells the others are checks of callers: quotas and the limit of the workspace's calls are the service's own.
  expect(metrics.totals()).toMatchObject({ verifications: 2, limits: 2 });
  expect(await samples(metrics, "latchkey_cache_lookups_total{")).toEqual([
    'latchkey_cache_lookups_total{cache="verification",result="hit"} 2',
    'latchkey_cache_lookups_total{cache="verification",result="miss"} 1',
  ]);
});

test("the store's state and operations are shown", async () => {
  const metrics = create();
  metrics.storeOperation("keys", "findOne", "unavailable", 12);
  metrics.storeState(true);
  expect(await samples(metrics, "latchkey_ratelimit_store_down{")).toEqual(['latchkey_ratelimit_store_down{policy="allow"} 0']);
  metrics.storeState(false);
  expect(await samples(metrics, "latchkey_ratelimit_store_down{")).toEqual(['latchkey_ratelimit_store_down{policy="allow"} 1']);
  expect(await samples(metrics, "latchkey_store_up{")).toEqual(['latchkey_store_up{engine="embedded"} 0']);
  expect(await samples(metrics, "latchkey_store_operation_duration_seconds_sum{")).toEqual([
    'latchkey_store_operation_duration_seconds_sum{collection="keys",operation="findOne",outcome="unavailable"} 0.012',
  ]);
});

test("version and process are described", async () => {
  const text = await create().render();
  expect(text).toContain('latchkey_build_info{version="1.2.3"} 1');
  expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m);
  expect(text).toMatch(/^process_resident_memory_bytes /m);
});

test("what sweeps removed adds up by kind, what waits for them is as last seen", async () => {
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
  metrics.calls('odd "name"\\\n')("ok", 1);
  const text = await metrics.render();
  expect(text.endsWith("\n")).toBe(true);
  const lines = text.split("\n").filter((line) => line !== "");
  for (const line of lines)
    expect(line).toMatch(/^# (HELP|TYPE) [a-z_:0-9]+ .+$|^[a-z_:0-9]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)+\})? [-+0-9.eInfNa]+$/);
  const heads = lines.filter((line) => line.startsWith("# TYPE"));
  expect(new Set(heads).size).toBe(heads.length);
  expect(text).toContain('procedure="odd \\"name\\"\\\\\\n"');
});
