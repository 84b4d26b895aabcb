/**
 * A closed-loop load client for machines without wrk and h2load. Reads a `LoadRequest` as JSON from its first argument
 * and prints a `LoadResult` as JSON. Slower than the native clients, and so a lower bound on the server.
 */
import { Agent, request } from "node:http";
import { connect } from "node:http2";
import { systemClock } from "../src/platform/base/clock.ts";
import type { LoadRequest } from "./load.ts";

const { url, protocol, headers, body, vary, seconds, connections, streams }: LoadRequest = JSON.parse(process.argv[2] ?? "{}");
const template = Buffer.from(body, "base64");
const at = vary === undefined ? -1 : template.indexOf(vary.digits);
/** The body of the next request. */
const nextPayload = (): Buffer => {
  if (vary === undefined) return template;
  const payload = Buffer.from(template);
  payload.write(String(Math.floor(Math.random() * vary.below)).padStart(vary.digits.length, "0"), at);
  return payload;
};
const latencies: number[] = [];
let errors = 0;
const startedAt = systemClock.monotonic();
const endsAt = startedAt + seconds * 1000;

const agent = new Agent({ keepAlive: true, maxSockets: connections });
const overHttp1 = (): Promise<boolean> =>
  new Promise((resolve) => {
    const payload = nextPayload();
    const call = request(url, { agent, method: "POST", headers: { ...headers, "content-length": payload.length } }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode === 200));
    });
    call.on("error", () => resolve(false));
    call.end(payload);
  });

const { origin, pathname } = new URL(url);
const sessions = protocol === "http1" ? [] : Array.from({ length: connections }, () => connect(origin));
const overHttp2 = (i: number): Promise<boolean> =>
  new Promise((resolve) => {
    const stream = sessions[i % connections]?.request({ ":method": "POST", ":path": pathname, ...headers });
    if (stream === undefined) return resolve(false);
    let succeeded = false;
    stream.on("response", (response) => {
      succeeded = response[":status"] === 200 && (response["grpc-status"] ?? "0") === "0";
    });
    stream.on("error", () => resolve(false));
    stream.on("close", () => resolve(succeeded));
    stream.resume();
    stream.end(template);
  });

const loop = async (i: number): Promise<void> => {
  while (systemClock.monotonic() < endsAt) {
    const sentAt = systemClock.monotonic();
    const succeeded = protocol === "http1" ? await overHttp1() : await overHttp2(i);
    if (!succeeded) errors++;
    latencies.push(systemClock.monotonic() - sentAt);
  }
};

await Promise.all(Array.from({ length: protocol === "http1" ? connections : connections * streams }, (_, i) => loop(i)));
const elapsed = systemClock.monotonic() - startedAt;
latencies.sort((a, b) => a - b);
const latencyAt = (share: number): number => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN;
console.log(
  JSON.stringify({
    requests: latencies.length,
    perSecond: (latencies.length / elapsed) * 1000,
    p50: latencyAt(0.5),
    p99: latencyAt(0.99),
    longest: latencyAt(1),
    errors,
  }),
);
process.exit(0);
