import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInstalled, runClient } from "./processes.ts";

export interface LoadRequest {
  readonly url: string;
  readonly protocol: "http1" | "http2";
  readonly headers: Readonly<Record<string, string>>;
  /** Base64. */
  readonly body: string;
  /** Only of HTTP/1.1: in each request `digits` stands for a random number below `below`, as many digits long. */
  readonly vary?: { readonly digits: string; readonly below: number };
  /** Calls per second, as long as a connection is free for them; as fast as the server answers when left out. Needs h2load. */
  readonly rate?: number;
  readonly seconds: number;
  readonly connections: number;
  /** Concurrent calls on each HTTP/2 connection. */
  readonly streams: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  /** When the longest call began, in milliseconds of the Unix epoch; only by h2load. */
  readonly longestAt?: number;
  /** Answers other than 200, and connections that broke. */
  readonly errors: number;
}

/** The client that will be used for a protocol on this machine. */
export const clientOf = (protocol: LoadRequest["protocol"]): "wrk" | "h2load" | "node" => {
  const native = protocol === "http1" ? "wrk" : "h2load";
  return isInstalled(native) ? native : "node";
};

const luaString = (bytes: Buffer): string => `"${[...bytes].map((byte) => `\\${String(byte).padStart(3, "0")}`).join("")}"`;

const varyingRequest = (bytes: Buffer, { digits, below }: NonNullable<LoadRequest["vary"]>): string => {
  const at = bytes.indexOf(digits);
  if (at === -1) throw new Error(`the body does not hold ${digits}`);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at + digits.length)];
  return `
math.randomseed(os.time())
local before, after = ${luaString(before)}, ${luaString(after)}
request = function()
  return wrk.format(nil, nil, nil, before .. string.format("%0${digits.length}d", math.random(0, ${below - 1})) .. after)
end`;
};

const wrkScript = ({ headers, body, vary }: LoadRequest): string => `
wrk.method = "POST"
wrk.body = ${luaString(Buffer.from(body, "base64"))}
${Object.entries(headers)
  .map(([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`)
  .join("\n")}
${vary === undefined ? "" : varyingRequest(Buffer.from(body, "base64"), vary)}
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('\\n{"requests":%d,"perSecond":%f,"p50":%f,"p99":%f,"longest":%f,"errors":%d}\\n', summary.requests,
    summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000,
    e.status + e.connect + e.read + e.write + e.timeout))
end
`;

const runWrk = async (load: LoadRequest, directory: string): Promise<LoadResult> => {
  const script = join(directory, "load.lua");
  writeFileSync(script, wrkScript(load));
  const output = await runClient("wrk", ["-t1", `-c${load.connections}`, `-d${load.seconds}s`, "-s", script, load.url]);
  return JSON.parse(output.trim().split("\n").at(-1) ?? "") as LoadResult;
};

const runH2load = async (load: LoadRequest, directory: string): Promise<LoadResult> => {
  const body = join(directory, "body");
  const log = join(directory, "log");
  writeFileSync(body, Buffer.from(load.body, "base64"));
  const headers = Object.entries(load.headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const shape = ["-t1", `-c${load.connections}`, `-m${load.streams}`, "-D", String(load.seconds)];
  if (load.protocol === "http1") shape.push("--h1");
  if (load.rate !== undefined) shape.push(`--rps=${Math.max(1, Math.round(load.rate / load.connections))}`);
  await runClient("h2load", [...shape, "-d", body, "--log-file", log, ...headers, load.url]);
  // One line per request: start (µs), status, duration (µs).
  const rows = readFileSync(log, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t").map(Number));
  const byDuration = rows.map(([start = 0, , duration = 0]) => [start / 1000, duration / 1000] as const).sort(([, a], [, b]) => a - b);
  const durations = byDuration.map(([, duration]) => duration);
  const at = (share: number): number => durations[Math.min(durations.length - 1, Math.floor(durations.length * share))] ?? Number.NaN;
  return {
    requests: rows.length,
    perSecond: rows.length / load.seconds,
    p50: at(0.5),
    p99: at(0.99),
    longest: at(1),
    longestAt: byDuration.at(-1)?.[0] ?? Number.NaN,
    errors: rows.filter(([, status]) => status !== 200).length,
  };
};

/** Makes one call, with the number 0, and throws unless it succeeds: load clients see the status of HTTP, and not the one of gRPC. */
export const callOnce = async ({
  url,
  protocol,
  headers,
  body,
  vary,
}: Pick<LoadRequest, "url" | "protocol" | "headers" | "body" | "vary">): Promise<void> => {
  const payload = Buffer.from(body, "base64");
  if (vary !== undefined) payload.fill("0", payload.indexOf(vary.digits), payload.indexOf(vary.digits) + vary.digits.length);
  if (protocol === "http1") {
    const response = await fetch(url, { method: "POST", headers, body: payload });
    if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`);
    return;
  }
  const { origin, pathname } = new URL(url);
  const session = connect(origin);
  try {
    const stream = session.request({ ":method": "POST", ":path": pathname, ...headers });
    let status: unknown;
    for (const event of ["response", "trailers"] as const) {
      stream.on(event, (fields) => {
        status = fields["grpc-status"] ?? status;
      });
    }
    stream.end(payload);
    stream.resume();
    await once(stream, "close");
    if (status !== "0") throw new Error(`${url}: grpc-status ${status}`);
  } finally {
    session.close();
  }
};

/** Loads a server for `seconds` with as many calls at a time as connections × streams. */
export const applyLoad = async (load: LoadRequest): Promise<LoadResult> => {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-bench-"));
  try {
    const client = load.rate === undefined ? clientOf(load.protocol) : "h2load";
    if (client === "wrk") return await runWrk(load, directory);
    if (client === "h2load") return await runH2load(load, directory);
    const output = await runClient(process.execPath, [join(import.meta.dirname, "nodeClient.ts"), JSON.stringify(load)]);
    return JSON.parse(output) as LoadResult;
  } finally {
    rmSync(directory, { recursive: true });
  }
};
