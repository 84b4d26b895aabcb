/**
 * `MONGODB_URL=… npm run bench:workers [-- --workers N --seconds N --rounds N --warm-up N]`: what a call costs a service with several
 * workers, as a multiple of what it costs one process: CPU time of all its processes, calls a second, and how long it takes to start. Each
 * service has a database of its own. They are loaded in turns, so that what else the machine does slows all of them alike.
 * What a service does without calls, as each node does for itself, is measured first and shown apart, too.
 * Of CPU time each figure is the least of all rounds, as others on the machine only ever add to it; of all else it is the median. Services
 * use all cores, beside the store and the client, whose CPU time is shown apart: calls a second tell something only on a machine
 * that has cores to spare. Asserts nothing; the last column says whether a goal was met.
 */
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { systemClock } from "../src/platform/base/clock.ts";
import { formatTable } from "../src/platform/util/table.ts";
import { applyLoad, callOnce } from "./load.ts";
import { cpuSecondsOfAll, cpuSecondsOfClients } from "./processes.ts";
import { rpcTargets } from "./rpcTargets.ts";
import { createBenchObjects, limitTargets, type Served, serviceTargets, shapes, startAt, type Target, v2 } from "./targets.ts";

/** CPU time of a call, as often as that of one process, and time to start. */
const MOST_CPU = 1.1;
const MOST_START = 1.5;
const CREDITS = 1_000_000_000;
const LONGEST_WARM_UP_SECONDS = 20;
/** After the start, and then for so long, nothing is called. */
const SETTLE_MS = 3_000;
const IDLE_MS = 10_000;

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "2" },
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" },
    // Calls of one worker before it is measured: code that runs often is compiled again, in each process for itself.
    "warm-up": { type: "string", default: "50000" },
  },
});
const whole = (text: string, least: number, most: number): number => Math.min(most, Math.max(least, Math.trunc(Number(text)) || least));
const workers = whole(values.workers, 2, 64);
const seconds = whole(values.seconds, 1, 60);
const rounds = whole(values.rounds, 1, 9);
const warmUpCalls = whole(values["warm-up"], 1, 1_000_000);

const least = (all: readonly number[]): number => Math.min(...all);
const median = (all: readonly number[]): number => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;

const targetsOf = async (served: Served): Promise<readonly Target[]> => {
  const objects = await createBenchObjects(served);
  const service = { ...served, ...objects };
  const warm = [...serviceTargets(service), ...rpcTargets(service)].filter(({ name }) => name === "verify" || name === "grpc-verify");
  const { key } = await served.call<{ key: string }>("keys.createKey", { apiId: objects.apiId, credits: { remaining: CREDITS } });
  const credits = v2(served)({ name: "credits", description: "/v2 keys.verifyKey: credits of one key" }, "keys.verifyKey", { key });
  return [...warm, ...limitTargets(served, "MongoDB").slice(0, 1), credits];
};

interface Measured {
  readonly perSecond: number;
  /** Microseconds of each call. */
  readonly cpu: number;
  readonly client: number;
}

/** @param idle seconds of CPU time that the service takes each second without calls. */
const measure = async ({ call, server }: Target, idle: number): Promise<Measured> => {
  const [startedAt, cpu, client] = [systemClock.monotonic(), cpuSecondsOfAll(server.pid), cpuSecondsOfClients()];
  const { requests, perSecond, errors } = await applyLoad({ ...call, ...shapes[call.protocol], seconds });
  if (errors > 0) throw new Error(`${call.url}: ${errors} errors`);
  const each = (spent: number): number => (spent * 1e6) / requests;
  const passed = (systemClock.monotonic() - startedAt) / 1_000;
  return { perSecond, cpu: each(cpuSecondsOfAll(server.pid) - cpu - idle * passed), client: each(cpuSecondsOfClients() - client) };
};

/** Loads a target until each of its workers is as fast as it gets. */
const warmUp = async ({ call }: Target, count: number): Promise<void> => {
  let calls = 0;
  for (let passed = 0; calls < count * warmUpCalls && passed < LONGEST_WARM_UP_SECONDS; passed += seconds) {
    calls += (await applyLoad({ ...call, ...shapes[call.protocol], seconds })).requests;
  }
};

/** Milliseconds from the process to its first greeting, one round of each. */
const startUp = async (mongodbUrl: string, count: number): Promise<number> => {
  const startedAt = systemClock.monotonic();
  const service = await startAt(mongodbUrl, { workers: count });
  const passed = systemClock.monotonic() - startedAt;
  await service.stop();
  return passed;
};

const judged = (value: number, most: number): string[] => [value.toFixed(2), value <= most ? "met" : "MISSED"];

const counts = [1, workers];

const compare = async (mongodbUrl: string): Promise<void> => {
  const services = await Promise.all(counts.map((count) => startAt(mongodbUrl, { workers: count })));
  const targets = await Promise.all(services.map((served) => targetsOf(served)));
  await sleep(SETTLE_MS);
  const before = services.map(({ server }) => cpuSecondsOfAll(server.pid));
  await sleep(IDLE_MS);
  const idle = services.map(({ server }, i) => (cpuSecondsOfAll(server.pid) - (before[i] ?? 0)) / (IDLE_MS / 1_000));
  const rows: string[][] = [];
  for (const [i, { description }] of (targets[0] ?? []).entries()) {
    const both = targets.map((all) => all[i] as Target);
    const measured: Measured[][] = both.map(() => []);
    for (const [j, target] of both.entries()) {
      await callOnce(target.call);
      await warmUp(target, counts[j] ?? 1);
    }
    for (let round = 0; round < rounds; round++)
      for (const [j, target] of both.entries()) measured[j]?.push(await measure(target, idle[j] ?? 0));
    const column = (j: number, field: keyof Measured): number[] => (measured[j] ?? []).map((each) => each[field]);
    const shown = (field: keyof Measured, of: (all: readonly number[]) => number): string =>
      both.map((_, j) => Math.round(of(column(j, field))).toLocaleString("en")).join(" → ");
    rows.push([
      description,
      shown("perSecond", median),
      shown("cpu", least),
      shown("client", least),
      (median(column(1, "perSecond")) / median(column(0, "perSecond"))).toFixed(2),
      ...judged(least(column(1, "cpu")) / least(column(0, "cpu")), MOST_CPU),
    ]);
    console.error(rows.at(-1)?.join(", "));
  }
  for (const { stop } of services) await stop();
  const heads = ["Calls", "Calls/s", "CPU µs/call", "Client's µs/call", "Calls/s, ratio", "CPU, ratio", `≤ ${MOST_CPU}`];
  console.log(`\n1 → ${workers} workers, ${availableParallelism()} cores; ${rounds} × ${seconds} s\n`);
  console.log(formatTable([heads, ...rows]).join("\n"));

  console.log(`\nWithout calls: ${idle.map((each) => `${Math.round(each * 1_000)} ms`).join(" → ")} of CPU time a second`);
  const starts = counts.map((): number[] => []);
  for (let round = 0; round < rounds; round++) for (const [j, count] of counts.entries()) starts[j]?.push(await startUp(mongodbUrl, count));
  const [value, verdict] = judged(median(starts[1] ?? []) / median(starts[0] ?? []), MOST_START);
  console.log(
    `\nStart, with a new database: ${starts.map((all) => `${Math.round(median(all))} ms`).join(" → ")}, ratio ${value}, goal ≤ ${MOST_START}: ${verdict}`,
  );
};

const { MONGODB_URL: server } = process.env;
if (server === undefined) throw new Error("workers need MongoDB: set MONGODB_URL");
await compare(server);
