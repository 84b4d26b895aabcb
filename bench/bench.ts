/**
 * `npm run bench [-- --seconds N] [--rounds N] [--keys N] [--json]`: how fast verification, rate limits and the rest are
 * on this machine, beside bare servers that do nothing. Asserts nothing. Every round loads each target once, so that a
 * noisy minute hits all of them; the table shows each target's median round. With MONGODB_URL rate limits, credits and the
 * creation of keys are measured on that server, too, in a database of their own; with COUNTERS_URL, or where a server program
 * is installed, rate limits on Valkey or Redis.
 */
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { formatTable } from "../src/platform/util/table.ts";
import { counterServerProgram, startCounterServer } from "./harness/counterServers.ts";
import { callOnce, clientOf } from "./load.ts";
import { measureSteady, type Steady } from "./measureSteady.ts";
import { type Measurement, measureTarget, medianBy } from "./measureTarget.ts";
import { mongoTargets } from "./mongoTargets.ts";
import { heldUpCells, heldUpHeader } from "./pausesOf.ts";
import { isInstalled, isPinned } from "./processes.ts";
import { rpcTargets } from "./rpcTargets.ts";
import {
  limitTargets,
  populatedTargets,
  serviceTargets,
  shapes,
  startAt,
  startBenchService,
  startEcho,
  startPopulatedService,
  type Target,
} from "./targets.ts";

/** The targets whose latency is measured at half of their maximum rate, beside their yardsticks at the same rate: a warm call on each edge. */
const STEADY = ["verify", "limit-embedded", "connect-verify", "grpc-verify", "grpc-limit"];

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

const say = (text: string): void => console.error(text);

say(`preparing a store of ${keys.toLocaleString("en")} keys`);
const service = await startBenchService();
const populated = await startPopulatedService(keys);
const { MONGODB_URL: mongodbUrl } = process.env;
const onMongo = mongodbUrl === undefined ? undefined : await startAt(mongodbUrl);
const counterServer =
  process.env.COUNTERS_URL === undefined && counterServerProgram() !== undefined ? await startCounterServer() : undefined;
const countersUrl = process.env.COUNTERS_URL ?? counterServer?.url;
const onCounters = countersUrl === undefined ? undefined : await startAt(undefined, { env: { COUNTERS_URL: countersUrl } });
const ofService = [...serviceTargets(service), ...rpcTargets(service)];
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
  ...(onMongo === undefined ? [] : await mongoTargets(onMongo)),
  ...(onCounters === undefined ? [] : limitTargets(onCounters, "Valkey")),
];
for (const { call } of targets) await callOnce(call);

const servers = [...new Set(targets.map(({ server }) => server))];

const measured = new Map<Target, Measurement[]>(targets.map((target) => [target, []]));
for (let round = 1; round <= rounds; round++) {
  for (const target of targets) {
    say(`round ${round} of ${rounds}: ${target.description}`);
    measured.get(target)?.push(await measureTarget(target, seconds, servers));
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
await Promise.all([populated.stop(), onMongo?.stop(), onCounters?.stop()]);
await counterServer?.[Symbol.asyncDispose]();

const steady: Steady[] = [];
if (isInstalled("h2load")) {
  for (const target of targets.filter(({ name }) => STEADY.includes(name))) {
    say(`at half of its maximum rate: ${target.description}`);
    const yardstick = echoes.find(({ name }) => name === target.yardstick) ?? target;
    const rate = (results.find(({ name }) => name === target.name)?.perSecond ?? 0) / 2;
    steady.push(...(await measureSteady(target, yardstick, rate, { seconds, rounds })));
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
    const rows = steady.map(({ description, perSecond, p50, p99, longest, heldUp, errors, ratio }) => [
      description,
      Math.round(perSecond).toLocaleString("en"),
      p50.toFixed(2),
      p99.toFixed(2),
      ratio.toFixed(2),
      ...heldUpCells(longest, heldUp),
      String(errors),
    ]);
    const header = ["at half of its maximum rate", "requests/s", "p50 ms", "p99 ms", "p99 ratio", ...heldUpHeader, "errors"];
    console.log(`\n${formatTable([header, ...rows]).join("\n")}`);
  }
  console.log(
    `\n${machine.cpu}, Node ${machine.node}; server ${isPinned ? "on one core, client on another" : "and client not pinned to cores"}; ` +
      `clients: ${machine.clients.http1} (${shapes.http1.connections} connections), ${machine.clients.http2} (${shapes.http2.connections} × ${shapes.http2.streams} streams); ` +
      `median of ${rounds} × ${seconds} s`,
  );
}
