/**
 * `npm run bench:envoy [-- --seconds N] [--rounds N]`: one rate limit over gRPC, beside Envoy's rate limit service with Redis and
 * a bare server of node on the same core, each loaded in turn. Asserts nothing, and is skipped where something it needs is
 * missing: h2load, redis-server, and Go with its module proxy, which builds the service.
 */
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { formatTable } from "../src/platform/util/table.ts";
import { type EnvoyService, startEnvoyService } from "./envoyService.ts";
import { applyLoad, callOnce, type LoadRequest, type LoadResult } from "./load.ts";
import { medianBy } from "./measureTarget.ts";
import { type HeldUp, heldUpCells, heldUpHeader, pausesOf } from "./pausesOf.ts";
import { isInstalled, isPinned, type NodeProcess, type ServerProcess } from "./processes.ts";
import { grpcCall, rpcTargets } from "./rpcTargets.ts";
import { shapes, startBenchService, startEcho, warmUp } from "./targets.ts";

/** Functions of node's and ours that are not compiled to the end cost more, and keep more alive. */
const WARM_UP_CALLS = 60_000;

const { values } = parseArgs({ options: { seconds: { type: "string", default: "10" }, rounds: { type: "string", default: "5" } } });
const seconds = Math.min(60, Math.max(1, Math.trunc(Number(values.seconds)) || 10));
const rounds = Math.min(20, Math.max(1, Math.trunc(Number(values.rounds)) || 5));

const skip = (why: string): never => {
  console.log(`skipped: ${why}`);
  process.exit(0);
};

const missing = ["h2load", "redis-server", "go"].filter((command) => !isInstalled(command));
if (missing.length > 0) skip(`the bench needs ${missing.join(", ")} on the PATH.`);

const envoy: EnvoyService = await startEnvoyService().catch((cause: Error) =>
  skip(`Envoy's rate limit service could not be built or started: ${cause.message.trim().split("\n").at(-1)}`),
);

interface Peer {
  readonly description: string;
  readonly call: Pick<LoadRequest, "url" | "protocol" | "headers" | "body">;
  readonly servers: readonly ServerProcess[];
  /** Whose pauses are told. */
  readonly watched?: NodeProcess;
}

const service = await startBenchService();
const limit = rpcTargets(service).find(({ name }) => name === "grpc-limit");
if (limit === undefined) throw new Error("there is no target grpc-limit");
const echo = await startEcho("http2-echo", "bare node:http2, gRPC-shaped echo", limit);
const peers: readonly Peer[] = [
  {
    description: `Envoy's rate limit service ${envoy.version}, Redis`,
    call: grpcCall(envoy.url, envoy.message),
    servers: envoy.servers,
  },
  { description: "Latchkey, RatelimitService/Limit, embedded", call: limit.call, servers: [limit.server], watched: limit.server },
  { description: echo.description, call: echo.call, servers: [echo.server], watched: echo.server },
];

interface Run {
  readonly result: LoadResult;
  readonly heldUp: HeldUp | undefined;
  /** Microseconds for each call. */
  readonly cpu: number;
}

const cpuOf = ({ servers }: Peer): number => servers.reduce((sum, { cpuSeconds }) => sum + cpuSeconds(), 0);

const load = ({ call }: Peer): Promise<LoadResult> => applyLoad({ ...call, ...shapes[call.protocol], seconds });

const measure = async (peer: Peer): Promise<Run> => {
  const before = cpuOf(peer);
  const { watched } = peer;
  const { result, heldUp } =
    watched === undefined ? { result: await load(peer), heldUp: undefined } : await pausesOf(watched, () => load(peer));
  return { result, heldUp, cpu: ((cpuOf(peer) - before) / result.requests) * 1e6 };
};

const runs = new Map<Peer, Run[]>(peers.map((peer) => [peer, []]));
try {
  for (const peer of peers) {
    console.error(`warming up: ${peer.description}`);
    await callOnce(peer.call);
    await warmUp({ call: peer.call, warmUpCalls: WARM_UP_CALLS });
  }
  for (let round = 1; round <= rounds; round++) {
    for (const peer of peers) {
      console.error(`round ${round} of ${rounds}: ${peer.description}`);
      runs.get(peer)?.push(await measure(peer));
    }
  }
} finally {
  await Promise.all([envoy.stop(), service.stop(), echo.server.stop()]);
}

const yardstick = runs.get(peers[0] as Peer) ?? [];
const rows = peers.map((peer) => {
  const own = runs.get(peer) ?? [];
  const median = (value: (run: Run) => number): number => medianBy(own.map(value), (number) => number);
  // Round by round: both sides of a ratio were measured in the same minute.
  const ratio = (value: (run: Run) => number): string =>
    medianBy(
      own.map((run, i) => value(run) / value(yardstick[i] ?? run)),
      (number) => number,
    ).toFixed(2);
  return [
    peer.description,
    Math.round(median(({ result }) => result.perSecond)).toLocaleString("en"),
    median(({ result }) => result.p50).toFixed(2),
    median(({ result }) => result.p99).toFixed(2),
    median(({ result }) => result.longest).toFixed(1),
    Math.max(...own.map(({ result }) => result.longest)).toFixed(1),
    median(({ cpu }) => cpu).toFixed(1),
    ratio(({ result }) => result.perSecond),
    ratio(({ cpu }) => 1 / cpu),
    String(own.reduce((sum, { result }) => sum + result.errors, 0)),
  ];
});
const header = [
  "target",
  "calls/s",
  "p50 ms",
  "p99 ms",
  "longest ms, median",
  "longest ms",
  "CPU µs/call",
  "ratio",
  "ratio by CPU",
  "errors",
];
console.log(formatTable([header, ...rows]).join("\n"));

const traced = peers.flatMap((peer) =>
  (runs.get(peer) ?? []).flatMap(({ result, heldUp }, i) =>
    heldUp === undefined ? [] : [[peer.description, String(i + 1), ...heldUpCells(result.longest, heldUp)]],
  ),
);
console.log(`\n${formatTable([["the longest call of each round", "round", ...heldUpHeader], ...traced]).join("\n")}`);
console.log(
  `\n${cpus()[0]?.model.trim() ?? "unknown"}, Node ${process.version}; servers ${isPinned ? "on one core, client on another" : "and client not pinned to cores"}; ` +
    `h2load, ${shapes.http2.connections} × ${shapes.http2.streams} streams; medians of ${rounds} × ${seconds} s; ` +
    `load average of the machine ${loadavg()[0]?.toFixed(1)}`,
);
