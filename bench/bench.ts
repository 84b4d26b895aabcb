/**
 * `npm run bench [-- --seconds N] [--rounds N] [--keys N] [--json]`: how fast verification, rate limits and the rest are
 * on this machine, beside bare servers that do nothing. Asserts nothing. Every round loads each target once, so that a
 * noisy minute hits all of them; the table shows each target's median round. With MONGODB_URL rate limits are measured
 * on that server, too, in a database of their own.
 */
import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { formatTable } from "../src/util/table.ts";
import { applyLoad, callOnce, clientOf, type LoadResult } from "./load.ts";
import { isInstalled, isPinned, type ServerProcess } from "./processes.ts";
import {
  limitTargets,
  populatedTargets,
  type Served,
  serviceTargets,
  shapes,
  startBenchService,
  startEcho,
  startOnMongo,
  startPopulatedService,
  type Target,
  warmUp,
} from "./targets.ts";

const REST_MS = 500;
const LONGEST_REST_MS = 15_000;
/** Share of a core that servers may use and count as idle. */
const IDLE = 0.1;
/** The targets whose latency is measured at half of their maximum rate; the first, at the rate of the second, shows what the machine adds by itself. */
const STEADY = ["http-echo", "verify", "limit-embedded"];

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    keys: { type: "string", default: "1000000" },
    json: { type: "boolean", default: false },
  },
});
const whole = (text: string, least: number, most: number): number => Math.min(most, Math.max(least, Math.trunc(Number(text)) || least));
const seconds = whole(values.seconds, 1, 60);
const rounds = whole(values.rounds, 1, 9);
const keys = whole(values.keys, 10_000, 10_000_000);

interface Measurement extends LoadResult {
  /** CPU time of the server for one call, in microseconds. */
  readonly cpu: number;
  /** Operations on counters in the store per 1,000 calls. */
  readonly counterOperations: number | undefined;
}

const say = (text: string): void => console.error(text);

let servers: readonly ServerProcess[] = [];

/**
 * Waits until the servers have done what the load before left behind, such as moving events into the audit log: they
 * share a core, and it would count for the next target.
 */
const quiet = async (): Promise<void> => {
  const used = (): number => servers.reduce((sum, { cpuSeconds }) => sum + cpuSeconds(), 0);
  for (let waited = 0; waited < LONGEST_REST_MS; waited += REST_MS) {
    const before = used();
    await sleep(REST_MS);
    if (used() - before <= (REST_MS / 1_000) * IDLE) return;
  }
  say("the servers are still busy with what came before");
};

const measure = async (target: Target): Promise<Measurement> => {
  const { call, server, counterOperations } = target;
  const shape = shapes[call.protocol];
  await warmUp(target);
  const operationsBefore = await counterOperations?.();
  const before = server.cpuSeconds();
  const result = await applyLoad({ ...call, ...shape, seconds });
  // What a call leaves to be done later is part of its cost.
  await quiet();
  const cpu = ((server.cpuSeconds() - before) / result.requests) * 1e6;
  const operationsAfter = await counterOperations?.();
  const operations =
    operationsBefore === undefined || operationsAfter === undefined
      ? undefined
      : ((operationsAfter - operationsBefore) / result.requests) * 1_000;
  return { ...result, cpu, counterOperations: operations };
};

const medianBy = <T>(items: readonly T[], value: (item: T) => number): T => {
  const middle = [...items].sort((a, b) => value(a) - value(b))[Math.floor(items.length / 2)];
  if (middle === undefined) throw new Error("nothing was measured");
  return middle;
};

say(`preparing a store of ${keys.toLocaleString("en")} keys`);
const service = await startBenchService();
const populated = await startPopulatedService(keys);
const onMongo: (Served & { readonly stop: () => Promise<void> }) | undefined =
  process.env.MONGODB_URL === undefined ? undefined : await startOnMongo(process.env.MONGODB_URL);
const ofService = serviceTargets(service);
const named = (name: string): Target => {
  const found = ofService.find((target) => target.name === name);
  if (found === undefined) throw new Error(`there is no target ${name}`);
  return found;
};
const echoes = [
  await startEcho("http-echo", "bare node:http, JSON echo", named("verify")),
  await startEcho("http2-echo", "bare node:http2, gRPC-shaped echo", named("grpc-verify")),
];
const targets = [
  ...echoes,
  ...ofService,
  ...populatedTargets(populated, keys),
  ...(onMongo === undefined ? [] : limitTargets(onMongo, "MongoDB")),
];
for (const { call } of targets) {
  const first =
    call.vary === undefined
      ? call.body
      : Buffer.from(Buffer.from(call.body, "base64").toString().replace(call.vary.digits, "0".repeat(call.vary.digits.length))).toString(
          "base64",
        );
  await callOnce({ ...call, body: first });
}

servers = [...new Set(targets.map(({ server }) => server))];

const measured = new Map<Target, Measurement[]>(targets.map((target) => [target, []]));
for (let round = 1; round <= rounds; round++) {
  for (const target of targets) {
    say(`round ${round} of ${rounds}: ${target.description}`);
    measured.get(target)?.push(await measure(target));
  }
}

const results = targets.map((target) => {
  const { name, description, yardstick, goal } = target;
  const own = measured.get(target) ?? [];
  const reference = measured.get(targets.find((other) => other.name === yardstick) ?? target) ?? [];
  // Round by round: both sides of a ratio were measured in the same minute.
  const ratios = own.map(({ perSecond }, i) => perSecond / (reference[i]?.perSecond ?? Number.NaN));
  return {
    name,
    description,
    yardstick,
    goal,
    ...medianBy(own, ({ perSecond }) => perSecond),
    errors: own.reduce((sum, { errors }) => sum + errors, 0),
    ratio: medianBy(ratios, (ratio) => ratio),
  };
});

// Services that tidy up after their load would take the core of those that are measured now.
await Promise.all([populated.stop(), onMongo?.stop()]);
servers = [service.server, ...echoes.map(({ server }) => server)];

/** How long calls take while the server has time left. */
const steady: { description: string; rate: number; p50: number; p99: number; longest: number; errors: number }[] = [];
if (isInstalled("h2load")) {
  for (const target of targets.filter(({ name }) => STEADY.includes(name))) {
    const rate = Math.round(
      (results.find(({ name }) => name === (target.name === "http-echo" ? "verify" : target.name))?.perSecond ?? 0) / 2,
    );
    say(`at half of its maximum rate: ${target.description}`);
    const { perSecond, p50, p99, longest, errors } = await applyLoad({ ...target.call, ...shapes[target.call.protocol], seconds, rate });
    steady.push({ description: target.description, rate: Math.round(perSecond), p50, p99, longest, errors });
  }
}
await Promise.all([service.stop(), ...echoes.map(({ server }) => server.stop())]);

const machine = {
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  node: process.version,
  pinned: isPinned,
  clients: { http1: clientOf("http1"), http2: clientOf("http2") },
  seconds,
  rounds,
};

if (values.json) {
  console.log(JSON.stringify({ machine, results, steady }, null, 2));
} else {
  const header = ["target", "requests/s", "p50 ms", "p99 ms", "CPU µs/call", "ratio", "goal", "store operations/1,000", "errors"];
  const cells = results.map(({ description, perSecond, p50, p99, cpu, ratio, goal, counterOperations, errors }) => [
    description,
    Math.round(perSecond).toLocaleString("en"),
    p50.toFixed(2),
    p99.toFixed(2),
    cpu.toFixed(1),
    ratio.toFixed(2),
    goal?.toFixed(2) ?? "",
    counterOperations?.toFixed(2) ?? "",
    String(errors),
  ]);
  console.log(formatTable([header, ...cells]).join("\n"));
  if (steady.length > 0) {
    const rows = steady.map(({ description, rate, p50, p99, longest, errors }) => [
      description,
      rate.toLocaleString("en"),
      p50.toFixed(2),
      p99.toFixed(2),
      longest.toFixed(1),
      String(errors),
    ]);
    console.log(
      `\n${formatTable([["at half of its maximum rate", "requests/s", "p50 ms", "p99 ms", "longest ms", "errors"], ...rows]).join("\n")}`,
    );
  }
  console.log(
    `\n${machine.cpu}, Node ${machine.node}; server ${isPinned ? "on one core, client on another" : "and client not pinned to cores"}; ` +
      `clients: ${machine.clients.http1} (${shapes.http1.connections} connections), ${machine.clients.http2} (${shapes.http2.connections} × ${shapes.http2.streams} streams); ` +
      `median of ${rounds} × ${seconds} s`,
  );
}
