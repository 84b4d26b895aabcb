/**
 * `npm run bench:profile [-- --target NAME] [--seconds N] [--keys N]`: where the time of one target of `npm run bench` goes.
 * Prints what each kind of thread uses for a call, then, from a second run under Node's CPU profiler, the functions of the
 * main thread from start to end, and leaves a `.cpuprofile` for a browser's developer tools.
 *
 * Targets: verify, limit-embedded, limits-embedded, denied-embedded, create, connect-verify, grpc-verify, grpc-limit; on a store of `--keys` keys
 * (100,000 unless given): credits-one, credits-many, uniform; with MONGODB_URL: limit-MongoDB, limits-MongoDB, denied-MongoDB,
 * credits-one-MongoDB, credits-many-MongoDB, create-MongoDB.
 */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { formatTable } from "../src/platform/util/table.ts";
import { applyLoad, type LoadResult } from "./load.ts";
import { mongoTargets } from "./mongoTargets.ts";
import { rpcTargets } from "./rpcTargets.ts";
import {
  populatedTargets,
  serviceTargets,
  shapes,
  startAt,
  startBenchService,
  startPopulatedService,
  type Target,
  warmUp,
} from "./targets.ts";

const ROWS = 30;
/** Threads that use less for a call, in microseconds, are left out. */
const LEAST = 0.1;

const { values } = parseArgs({
  options: {
    target: { type: "string", default: "verify" },
    seconds: { type: "string", default: "10" },
    keys: { type: "string", default: "100000" },
  },
});
const seconds = Math.min(60, Math.max(1, Number(values.seconds) || 10));
const keys = Math.min(10_000_000, Math.max(10_000, Math.trunc(Number(values.keys)) || 100_000));
const { MONGODB_URL: mongodbUrl } = process.env;
const isPopulated = ["credits-one", "credits-many", "uniform"].includes(values.target);

interface Started {
  readonly target: Target;
  readonly stop: () => Promise<void>;
}

const start = async (nodeFlags: readonly string[]): Promise<Started> => {
  const begin = async () => {
    if (mongodbUrl !== undefined) {
      const served = await startAt(mongodbUrl, { nodeFlags });
      return { targets: await mongoTargets(served), stop: served.stop };
    }
    if (!isPopulated) {
      const service = await startBenchService(nodeFlags);
      return { targets: [...serviceTargets(service), ...rpcTargets(service)], stop: service.stop };
    }
    const service = await startPopulatedService(keys, nodeFlags);
    return { targets: populatedTargets(service, keys), stop: service.stop };
  };
  const { targets, stop } = await begin();
  const target = targets.find(({ name }) => name === values.target);
  if (target !== undefined) return { target, stop };
  await stop();
  throw new Error(`there is no target ${values.target}, but ${targets.map(({ name }) => name).join(", ")}`);
};

const load = ({ call }: Target, duration: number): Promise<LoadResult> =>
  applyLoad({
    ...call,
    ...shapes[call.protocol],
    seconds: duration,
  });

const measureThreads = async (): Promise<void> => {
  const { target, stop } = await start([]);
  await warmUp(target);
  const before = target.server.threadSeconds();
  const { requests, perSecond } = await load(target, seconds);
  const used = [...target.server.threadSeconds()].map(([name, after]) => ({
    name,
    each: ((after - (before.get(name) ?? 0)) / requests) * 1e6,
  }));
  await stop();
  const rows = used.filter(({ each }) => each >= LEAST).sort((a, b) => b.each - a.each);
  console.log(`${target.description}: ${Math.round(perSecond)} requests/s\n`);
  console.log(formatTable([["thread", "CPU µs/call"], ...rows.map(({ name, each }) => [name, each.toFixed(1)])]).join("\n"));
};

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { functionName: string; url: string; lineNumber: number } }[];
  readonly samples: readonly number[];
}

const directory = mkdtempSync(join(tmpdir(), "latchkey-profile-"));
await measureThreads();
const { target, stop } = await start(["--cpu-prof", `--cpu-prof-dir=${directory}`]);
await warmUp(target);
const result = await load(target, seconds);
await stop();

// Worker threads write profiles of their own; the largest is that of the main thread.
const profiles = readdirSync(directory).map((name) => ({ name, text: readFileSync(join(directory, name), "utf8") }));
const [largest] = profiles.sort((a, b) => b.text.length - a.text.length);
if (largest === undefined) throw new Error("the profiler wrote nothing");
const profile: Profile = JSON.parse(largest.text);

const hits = new Map<number, number>();
for (const sample of profile.samples) hits.set(sample, (hits.get(sample) ?? 0) + 1);
const byFunction = new Map<string, number>();
for (const { id, callFrame } of profile.nodes) {
  const place = callFrame.url.replace(/^file:\/\/.*?\/(?=src\/|gen\/|node_modules\/)/, "");
  const name = `${callFrame.functionName || "(anonymous)"}\0${place === "" ? "" : `${place}:${callFrame.lineNumber + 1}`}`;
  byFunction.set(name, (byFunction.get(name) ?? 0) + (hits.get(id) ?? 0));
}
const busy = profile.samples.length - (byFunction.get("(idle)\0") ?? 0);
byFunction.delete("(idle)\0");
const top = [...byFunction].sort(([, a], [, b]) => b - a).slice(0, ROWS);
console.log(
  `\n${formatTable([
    ["self %", "function", "where"],
    ...top.map(([name, count]) => [((count / busy) * 100).toFixed(1), ...name.split("\0")]),
  ]).join("\n")}`,
);

const kept = resolve(`${values.target}.cpuprofile`);
copyFileSync(join(directory, largest.name), kept);
rmSync(directory, { recursive: true });
console.log(`\n${Math.round(result.perSecond)} requests/s under the profiler; the whole profile is in ${kept}`);
