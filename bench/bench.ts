/**
 * `npm run bench [-- --seconds N] [--rounds N] [--json]`: how fast verification and rate limiting are on this machine,
 * beside bare servers that do nothing. Asserts nothing. Every round loads each target once, so that a noisy minute hits
 * all of them; the table shows each target's median round.
 */
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { formatTable } from "../src/cli/table.ts";
import { applyLoad, callOnce, clientOf, type LoadResult } from "./load.ts";
import { isPinned } from "./processes.ts";
import { serviceTargets, startBenchService, startEcho, type Target } from "./targets.ts";

const CONNECTIONS = 32;
const HTTP2_CONNECTIONS = 4;
const STREAMS = 8;
const WARM_UP_SECONDS = 1;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
  },
});
const seconds = Math.min(60, Math.max(1, Math.trunc(Number(values.seconds)) || 5));
const rounds = Math.min(9, Math.max(1, Math.trunc(Number(values.rounds)) || 3));

interface Measurement extends LoadResult {
  /** CPU time of the server for one call, in microseconds. */
  readonly cpu: number;
}

const measure = async ({ call, server }: Target): Promise<Measurement> => {
  const shape = call.protocol === "http1" ? { connections: CONNECTIONS, streams: 1 } : { connections: HTTP2_CONNECTIONS, streams: STREAMS };
  await applyLoad({ ...call, ...shape, seconds: WARM_UP_SECONDS });
  const before = server.cpuSeconds();
  const result = await applyLoad({ ...call, ...shape, seconds });
  return { ...result, cpu: ((server.cpuSeconds() - before) / result.requests) * 1e6 };
};

const medianBy = <T>(items: readonly T[], value: (item: T) => number): T => {
  const middle = [...items].sort((a, b) => value(a) - value(b))[Math.floor(items.length / 2)];
  if (middle === undefined) throw new Error("nothing was measured");
  return middle;
};

const service = await startBenchService();
const [verify, limit, grpcVerify] = serviceTargets(service);
if (verify === undefined || limit === undefined || grpcVerify === undefined) throw new Error("a target is missing");
const httpEcho = await startEcho("http-echo", "bare node:http, JSON echo", verify);
const http2Echo = await startEcho("http2-echo", "bare node:http2, gRPC-shaped echo", grpcVerify);
const targets = [httpEcho, verify, limit, http2Echo, grpcVerify];

for (const target of targets) await callOnce(target.call);

const measured = new Map<Target, Measurement[]>(targets.map((target) => [target, []]));
for (let round = 1; round <= rounds; round++) {
  for (const target of targets) {
    console.error(`round ${round} of ${rounds}: ${target.description}`);
    measured.get(target)?.push(await measure(target));
  }
}
await Promise.all([service.stop(), httpEcho.server.stop(), http2Echo.server.stop()]);

const results = targets.map((target) => {
  const { name, description, yardstick } = target;
  const own = measured.get(target) ?? [];
  const reference = measured.get(targets.find((other) => other.name === yardstick) ?? target) ?? [];
  // Round by round: both sides of a ratio were measured in the same minute.
  const ratios = own.map(({ perSecond }, i) => perSecond / (reference[i]?.perSecond ?? Number.NaN));
  return {
    name,
    description,
    yardstick,
    ...medianBy(own, ({ perSecond }) => perSecond),
    ratio: medianBy(ratios, (ratio) => ratio),
  };
});
const machine = {
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  node: process.version,
  pinned: isPinned,
  clients: { http1: clientOf("http1"), http2: clientOf("http2") },
  seconds,
  rounds,
};

if (values.json) {
  console.log(JSON.stringify({ machine, results }, null, 2));
} else {
  const header = ["target", "requests/s", "p50 ms", "p99 ms", "CPU µs/call", "ratio", "errors"];
  const cells = results.map(({ description, perSecond, p50, p99, cpu, ratio, errors }) => [
    description,
    Math.round(perSecond).toLocaleString("en"),
    p50.toFixed(2),
    p99.toFixed(2),
    cpu.toFixed(1),
    ratio.toFixed(2),
    String(errors),
  ]);
  console.log(formatTable([header, ...cells]).join("\n"));
  console.log(
    `\n${machine.cpu}, Node ${machine.node}; server ${isPinned ? "on one core, client on another" : "and client not pinned to cores"}; ` +
      `clients: ${machine.clients.http1} (${CONNECTIONS} connections), ${machine.clients.http2} (${HTTP2_CONNECTIONS} × ${STREAMS} streams); ` +
      `median of ${rounds} × ${seconds} s`,
  );
}
