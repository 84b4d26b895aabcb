/**
 * `npm run bench:allocations [-- --target NAME] [--seconds N]`: what a warm call allocates in the heap, beside bare servers that do
 * nothing: all of it, as V8 counts it, and which functions do, by the sampling profiler. Asserts nothing.
 */
import { parseArgs } from "node:util";
import { formatTable } from "../src/platform/util/table.ts";
import { applyLoad, type LoadResult } from "./load.ts";
import { rpcTargets } from "./rpcTargets.ts";
import { serviceTargets, shapes, startBenchService, startEcho, type Target, warmUp } from "./targets.ts";

/** Functions that allocate less for a call, in bytes, are left out. */
const LEAST = 40;
/** Functions that are not compiled to the end allocate more, and keep more alive. */
const WARM_UP_CALLS = 60_000;
const MEASURED = ["verify", "limit-embedded", "connect-verify", "grpc-verify", "grpc-limit"];

const { values } = parseArgs({ options: { target: { type: "string" }, seconds: { type: "string", default: "5" } } });
const seconds = Math.min(60, Math.max(1, Number(values.seconds) || 5));

const service = await startBenchService();
const ofService = [...serviceTargets(service), ...rpcTargets(service)].filter(({ name }) => MEASURED.includes(name));
const like = (name: string): Target => ofService.find((target) => target.name === name) as Target;
const echoes = [
  await startEcho("http-echo", "bare node:http, JSON echo", like("verify")),
  await startEcho("http2-echo", "bare node:http2, gRPC-shaped echo", like("grpc-verify")),
];

const load = ({ call }: Target): Promise<LoadResult> => applyLoad({ ...call, ...shapes[call.protocol], seconds });

const table: string[][] = [["target", "bytes/call", "beyond the bare server"]];
const perCall = new Map<string, number>();
const details: string[] = [];
for (const target of [...echoes, ...ofService]) {
  const { name, description, server, yardstick } = target;
  if (values.target !== undefined && name !== values.target && name !== like(values.target).yardstick) continue;
  console.error(description);
  await warmUp({ ...target, warmUpCalls: WARM_UP_CALLS });
  const before = await server.ask("allocated");
  const { requests } = await load(target);
  const bytes = ((await server.ask("allocated")) - before) / requests;
  perCall.set(name, bytes);
  const whole = (count: number): string => Math.round(count).toLocaleString("en");
  table.push([description, whole(bytes), name === yardstick ? "" : whole(bytes - (perCall.get(yardstick) ?? 0))]);
  await server.ask("sample");
  const sampled = await load(target);
  const rows = (await server.ask("allocators"))
    .map(({ name, place, bytes }) => ({ name, place, each: bytes / sampled.requests }))
    .filter(({ each }) => each >= LEAST)
    .map(({ name, place, each }) => [whole(each), name, place]);
  details.push(`\n${description}\n${formatTable([["bytes/call", "function", "where"], ...rows]).join("\n")}`);
}
await Promise.all([service.stop(), ...echoes.map(({ server }) => server.stop())]);
console.log(formatTable(table).join("\n"));
console.log(details.join("\n"));
