// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { v2Edge } from "../../../bench/harness/v2Edge.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { bodyOf, createObjects, nothing } from "../../support/bodies.ts";
import { procedureNames } from "../../support/edges.ts";
import { lintPage } from "../../support/lintMetrics.ts";
import { engines } from "../../support/stores.ts";

const pageOf = async ({ adminUrl }: Api): Promise<string> => (await fetch(`${adminUrl}/metrics`)).text();

describe.each(engines)("the page of metrics on $name", (engine) => {
  let api: Api;
  beforeAll(async () => {
    api = await startApi(engine, { env: { CONSOLE: "on" } });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  test("figures from the store appear soon after the start", async () => {
    const expected =
      engine.name === "embedded"
        ? ['latchkey_store_file_bytes{file="wal"}', "latchkey_store_disk_free_bytes", "latchkey_store_disk_size_bytes"]
        : ['latchkey_store_connections{state="open"}', 'latchkey_store_connections{state="in_use"}', "latchkey_store_connections_limit"];
    await api.createRootKey({ expires: Date.now() + 86_400_000 / 2 });
    await expect.poll(() => pageOf(api), { timeout: 20_000 }).toMatch(/^latchkey_store_observed_timestamp_seconds \d/m);
    const page = await pageOf(api);
    for (const series of [...expected, "latchkey_audit_outbox_documents", "latchkey_audit_outbox_age_seconds", "latchkey_console_sessions"])
      expect(page).toContain(`\n${series} `);
    expect(page).toMatch(/^latchkey_root_keys_expiring\{within="1d"\} 1$/m);
    expect(page).toMatch(/^latchkey_cache_limit_bytes 268435456$/m);
    expect(page).toMatch(/^latchkey_cache_entries\{cache="root_key"\} \d+$/m);
    expect(page).toMatch(/^latchkey_changes_feed_lag_seconds \d/m);
    expect(page).toMatch(/^latchkey_capacity_limit\{resource="calls"\} 10000$/m);
  });

  test("after every procedure was called on every edge, with three outcomes, it has at most 100 KB and keeps to the conventions", async () => {
    const v2 = v2Edge(api.url);
    const objects = await createObjects(async (procedure, body) => dataOf(await v2.call(procedure, body, api.rootKey)));
    for (const procedure of procedureNames) {
      await v2.call(procedure, bodyOf(procedure, objects), undefined);
      for (const edge of api.edges) await edge.call(procedure, bodyOf(procedure, nothing), api.rootKey);
      await v2.call(procedure, bodyOf(procedure, objects), api.rootKey);
    }
    const page = await pageOf(api);
    expect(lintPage(page)).toEqual([]);
    expect(page.match(/^latchkey_procedure_duration_seconds_count/gm)?.length).toBeGreaterThan(2 * procedureNames.length);
    for (const edge of ["v2", "grpc", "grpc-web", "connect"]) expect(page).toContain(`latchkey_calls_total{edge="${edge}",kind="verify",`);
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(100_000);
  });
});
