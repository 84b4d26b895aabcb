/**
 * Checks alerts and dashboard: `promtool` on the rules, their tests and a page of metrics, and then every query against a Prometheus
 * that scrapes a real service under a little load. Needs `prometheus` and `promtool` on the path; exits non-zero and says what is wrong.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../bench/harness/freePort.ts";
import { startService } from "../../bench/harness/latchkeyProcess.ts";
import { alertQueries, dashboardQueries, type MonitoringQuery } from "./monitoringQueries.ts";

const rules = join(import.meta.dirname, "../../deploy/prometheus");

/** Nothing of these happens in a few seconds of an embedded store without TLS. */
const absent: readonly RegExp[] = [/latchkey_store_connections/, /latchkey_(tls|file_reload)_/, /latchkey_analytics_(up|insert|buffered)/];
/** Queries without a series while nothing fails. */
const onlyFailures: readonly RegExp[] = [/status="5xx"\}\[5m\]\)\) \//, /store_operations_total\{.*outcome!="ok"/];

const promtool = (args: readonly string[], input?: string): void => {
  execFileSync("promtool", args, { stdio: [input === undefined ? "ignore" : "pipe", "ignore", "inherit"], ...(input && { input }) });
};

const load = async (url: string, rootKey: string): Promise<void> => {
  const call = async (procedure: string, body: object): Promise<Record<string, string>> => {
    const response = await fetch(`${url}/v2/${procedure}`, {
      method: "POST",
      headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return ((await response.json()) as { data?: Record<string, string> }).data ?? {};
  };
  const { apiId } = await call("apis.createApi", { name: "monitored" });
  const { key } = await call("keys.createKey", { apiId });
  await call("apis.deleteApi", { apiId: (await call("apis.createApi", { name: "deleted" })).apiId });
  for (let i = 0; i < 16; i++) {
    // Enough for the service to collect garbage.
    for (let j = 0; j < 250; j++) {
      await call("keys.verifyKey", { key: j === 0 ? "unknown" : key });
      await call("ratelimit.limit", { namespace: "logins", identifier: "user_1", limit: 100, duration: 60_000 });
    }
    await call("apis.getApi", { apiId: "api_nothing1" });
    await fetch(`${url}/ui/rpc/nothing`, { method: "POST" });
    await sleep(400);
  }
};

const ask = async (prometheus: string, { where, query }: MonitoringQuery): Promise<readonly string[]> => {
  const response = await fetch(`${prometheus}/api/v1/query?${new URLSearchParams({ query })}`);
  const { status, error, data } = (await response.json()) as { status: string; error?: string; data?: { result: unknown[] } };
  if (status !== "success") return [`${where}: ${error}: ${query}`];
  if (data?.result.length !== 0 || [...absent, ...onlyFailures].some((pattern) => pattern.test(query))) return [];
  return [`${where}: no series: ${query}`];
};

const check = async (directory: string): Promise<readonly string[]> => {
  promtool(["check", "rules", join(rules, "alerts.yaml")]);
  promtool(["test", "rules", join(rules, "alerts.test.yaml")]);
  await using service = await startService({ env: { CONSOLE: "on" } });
  const port = await freePort();
  const config = join(directory, "prometheus.yml");
  const targets = [{ targets: [new URL(service.adminUrl).host] }];
  writeFileSync(config, JSON.stringify({ scrape_configs: [{ job_name: "latchkey", scrape_interval: "1s", static_configs: targets }] }));
  const prometheus = spawn(
    "prometheus",
    [`--config.file=${config}`, `--storage.tsdb.path=${directory}/data`, `--web.listen-address=127.0.0.1:${port}`, "--log.level=error"],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  try {
    await load(service.url, await service.rootKey());
    promtool(["check", "metrics"], await (await fetch(`${service.adminUrl}/metrics`)).text());
    const url = `http://127.0.0.1:${port}`;
    return (await Promise.all([...dashboardQueries(), ...alertQueries()].map((query) => ask(url, query)))).flat();
  } finally {
    prometheus.kill();
    await once(prometheus, "exit");
  }
};

const directory = mkdtempSync(join(tmpdir(), "latchkey-monitoring-"));
const problems = await check(directory).finally(() => rmSync(directory, { recursive: true, force: true }));
for (const problem of problems) console.error(problem);
console.log(`${dashboardQueries().length} queries of the dashboard and ${alertQueries().length} of alerts, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
