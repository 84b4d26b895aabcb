/**
 * `npm run bench:analytics [-- --events N] [--rounds N]`: how long queries over ten million verifications
 * take (none with 0 events), what recording costs a verification, and what becomes of verification when the engine is killed. Asserts nothing.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { formatTable } from "../src/platform/util/table.ts";
import { loadEvents } from "./analyticsEvents.ts";
import { applyLoad, type LoadResult } from "./load.ts";
import { median } from "./median.ts";
import { cpuSecondsOf, isPinned } from "./processes.ts";
import { type Served, serve } from "./targets.ts";

const CONNECTIONS = 32;
const QUERIES = 5;
/** Fewer events than a service holds. */
const LOAD_SECONDS = 2;
const CATCH_UP_MS = 3_000;
/** Loads of each service in a round, and those before, which do not count. */
const LOADS = 3;
const WARM_UPS = 2;

const { values } = parseArgs({
  options: {
    events: { type: "string", default: "10000000" },
    rounds: { type: "string", default: "5" },
  },
});
const events = Number(values.events);
const rounds = Number(values.rounds);

const say = (text: string): void => console.error(text);

const queries = {
  "per day and outcome, raw events":
    "SELECT toStartOfDay(fromUnixTimestamp64Milli(time)) AS day, outcome, count(*) AS n FROM key_verifications_v1 GROUP BY day, outcome ORDER BY day, outcome",
  "per day and outcome, sums per day":
    "SELECT time AS day, outcome, sum(count) AS n FROM key_verifications_per_day_v1 GROUP BY day, outcome ORDER BY day, outcome",
  "95th percentile of latency by API, raw events":
    "SELECT key_space_id, quantile(0.95)(latency) AS p95 FROM key_verifications_v1 GROUP BY key_space_id ORDER BY key_space_id",
  "ten busiest keys of the last week, raw events":
    "SELECT key_id, count(*) AS n FROM key_verifications_v1 WHERE time >= now() - INTERVAL 7 DAY GROUP BY key_id ORDER BY n DESC LIMIT 10",
};

const engineOf = ({ server }: Served): number | undefined => {
  const [child] = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8").trim().split(" ");
  return child ? Number(child) : undefined;
};

/** The engine inherits the core of the service; in production it has all of them. */
const unpinEngine = async (served: Served): Promise<void> => {
  const engine = engineOf(served);
  if (!isPinned || engine === undefined) return;
  await promisify(execFile)("taskset", ["-a", "-c", "-p", `0-${availableParallelism() - 1}`, String(engine)]);
};

const measureQueries = async (): Promise<string[][]> => {
  const dataDir = mkdtempSync(join(tmpdir(), "latchkey-bench-analytics-"));
  say(`loading ${events.toLocaleString("en")} events`);
  const startedAt = performance.now();
  await loadEvents(dataDir, events);
  const loaded = (performance.now() - startedAt) / 1_000;
  const served = await serve({ DATA_DIR: dataDir, ANALYTICS: "embedded" });
  const ask = (query: string) => served.call<Record<string, number>[]>("analytics.getVerifications", { query });
  const [all] = await ask("SELECT count(*) AS n FROM key_verifications_v1");
  await unpinEngine(served);
  const lines = [["query", "rows", "median ms", "longest ms"]];
  for (const [name, query] of Object.entries(queries)) {
    const times: number[] = [];
    let rows = 0;
    for (let i = 0; i < QUERIES; i++) {
      const before = performance.now();
      rows = (await ask(query)).length;
      times.push(performance.now() - before);
    }
    lines.push([name, String(rows), median(times).toFixed(0), Math.max(...times).toFixed(0)]);
  }
  await served.server.stop();
  rmSync(dataDir, { recursive: true });
  say(`loaded in ${loaded.toFixed(0)} s; the raw table has ${all?.n?.toLocaleString("en")} events`);
  return lines;
};

interface Verifier {
  readonly served: Served;
  readonly load: (seconds: number) => Promise<LoadResult>;
  readonly stop: () => Promise<void>;
}

/** A service and the load of one key: two permissions, one rate limit, no credits. */
const startVerifier = async (analytics: "embedded" | "off"): Promise<Verifier> => {
  const dataDir = mkdtempSync(join(tmpdir(), "latchkey-bench-analytics-"));
  const served = await serve({ DATA_DIR: dataDir, ANALYTICS: analytics });
  const { apiId } = await served.call<{ apiId: string }>("apis.createApi", { name: "bench" });
  const { key } = await served.call<{ key: string }>("keys.createKey", {
    apiId,
    permissions: ["documents.read", "documents.write"],
    ratelimits: [{ name: "requests", limit: 1_000_000_000, duration: 60_000, autoApply: true }],
  });
  const body = Buffer.from(JSON.stringify({ key, permissions: "documents.read AND documents.write" })).toString("base64");
  const headers = { authorization: `Bearer ${served.rootKey}`, "content-type": "application/json" };
  const call = { url: `${served.url}/v2/keys.verifyKey`, protocol: "http1", headers, body, connections: CONNECTIONS, streams: 1 } as const;
  return {
    served,
    load: (duration) => applyLoad({ ...call, seconds: duration }),
    stop: async () => {
      await served.server.stop();
      rmSync(dataDir, { recursive: true });
    },
  };
};

interface Cost {
  readonly perSecond: number;
  /** Microseconds of CPU for one verification. */
  readonly server: number;
  readonly engine: number;
  readonly p99: number;
}

/**
 * Measures a load and the writing of its events. The engine stands still during the load, so that it takes no core from
 * the service; afterwards it catches up.
 */
const measureCost = async ({ served, load }: Verifier): Promise<Cost> => {
  const engine = engineOf(served);
  const before = { server: served.server.cpuSeconds(), engine: engine === undefined ? 0 : cpuSecondsOf(engine) };
  if (engine !== undefined) process.kill(engine, "SIGSTOP");
  const { requests, perSecond, p99 } = await load(LOAD_SECONDS);
  if (engine !== undefined) process.kill(engine, "SIGCONT");
  await sleep(CATCH_UP_MS);
  const each = (used: number): number => (used / requests) * 1e6;
  return {
    perSecond,
    p99,
    server: each(served.server.cpuSeconds() - before.server),
    engine: engine === undefined ? 0 : each(cpuSecondsOf(engine) - before.engine),
  };
};

const modes = ["off", "on"] as const;
type Costs = Record<(typeof modes)[number], Cost[]>;

/** Loads a service that records and one that does not in turn, after both have been compiled by loads of their own. */
const measureRound = async (): Promise<Costs> => {
  const verifiers = { off: await startVerifier("off"), on: await startVerifier("embedded") };
  await verifiers.on.load(1);
  await unpinEngine(verifiers.on.served);
  for (let i = 0; i < WARM_UPS; i++) for (const mode of modes) await measureCost(verifiers[mode]);
  const costs: Costs = { off: [], on: [] };
  for (let i = 0; i < LOADS; i++) for (const mode of modes) costs[mode].push(await measureCost(verifiers[mode]));
  for (const mode of modes) await verifiers[mode].stop();
  return costs;
};

/** Each round has processes of its own: two of the same program differ by more than what recording costs. */
const measureRecording = async (): Promise<string[][]> => {
  const all: Costs = { off: [], on: [] };
  const added: number[] = [];
  const of = (costs: readonly Cost[], part: keyof Cost): number => median(costs.map((cost) => cost[part]));
  for (let round = 1; round <= rounds; round++) {
    const costs = await measureRound();
    added.push((of(costs.on, "server") / of(costs.off, "server") - 1) * 100);
    say(`recording, round ${round} of ${rounds}: ${added.at(-1)?.toFixed(1)} %`);
    for (const mode of modes) all[mode].push(...costs[mode]);
  }
  say(`recording adds ${median(added).toFixed(1)} % to the CPU time of the service, by the median of the rounds`);
  const line = (mode: (typeof modes)[number]) => [
    mode,
    of(all[mode], "perSecond").toFixed(0),
    of(all[mode], "p99").toFixed(2),
    of(all[mode], "server").toFixed(1),
    of(all[mode], "engine").toFixed(1),
  ];
  return [["analytics", "verifications/s", "p99 ms", "service µs CPU each", "engine µs CPU each"], line("off"), line("on")];
};

const measureDeath = async (): Promise<string[][]> => {
  const verifier = await startVerifier("embedded");
  await verifier.load(3);
  await unpinEngine(verifier.served);
  const lines = [["second", "verifications/s", "errors"]];
  const report = (name: string, { perSecond, errors }: LoadResult) => lines.push([name, perSecond.toFixed(0), String(errors)]);
  report("before the engine is killed", await verifier.load(1));
  const engine = engineOf(verifier.served);
  const during = verifier.load(1);
  setTimeout(() => engine !== undefined && process.kill(engine, "SIGKILL"), 300);
  report("in which it is killed", await during);
  report("after", await verifier.load(1));
  await verifier.stop();
  return lines;
};

say(isPinned ? "the service runs on core 0, the load on core 1, the engine on all" : "the processes are not pinned to cores");
const tables = [...(events > 0 ? [await measureQueries()] : []), await measureRecording(), await measureDeath()];
for (const table of tables) console.log(`\n${formatTable(table).join("\n")}`);
