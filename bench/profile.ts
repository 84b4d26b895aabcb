/**
 * `npm run bench:profile [-- --target verify|limit|grpc-verify] [--seconds N]`: loads the service under Node's CPU
 * profiler, prints where the time went, and leaves a `.cpuprofile` for a browser's developer tools.
 */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { formatTable } from "../src/cli/table.ts";
import { applyLoad } from "./load.ts";
import { serviceTargets, startBenchService } from "./targets.ts";

const ROWS = 30;

const { values } = parseArgs({ options: { target: { type: "string", default: "verify" }, seconds: { type: "string", default: "10" } } });

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { functionName: string; url: string; lineNumber: number } }[];
  readonly samples: readonly number[];
}

const directory = mkdtempSync(join(tmpdir(), "latchkey-profile-"));
const service = await startBenchService(["--cpu-prof", `--cpu-prof-dir=${directory}`]);
const target = serviceTargets(service).find(({ name }) => name === values.target);
if (target === undefined) {
  await service.stop();
  throw new Error(`there is no target ${values.target}`);
}
const shape = target.call.protocol === "http1" ? { connections: 32, streams: 1 } : { connections: 4, streams: 8 };
const result = await applyLoad({ ...target.call, ...shape, seconds: Math.min(60, Math.max(1, Number(values.seconds) || 10)) });
await service.stop();

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
  formatTable([
    ["self %", "function", "where"],
    ...top.map(([name, count]) => [((count / busy) * 100).toFixed(1), ...name.split("\0")]),
  ]).join("\n"),
);

const kept = resolve(`${values.target}.cpuprofile`);
copyFileSync(join(directory, largest.name), kept);
rmSync(directory, { recursive: true });
console.log(`\n${Math.round(result.perSecond)} requests/s under the profiler; the whole profile is in ${kept}`);
