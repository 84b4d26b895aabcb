/**
 * The others: warm verifications at a steady rate that no attack slows down, each counted from when it was due. Reads what to
 * call as JSON from its first argument and prints its latencies as JSON.
 */
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../src/platform/base/clock.ts";

/** Longer than any call may take without being an outage. */
const PATIENCE = 15_000;

export interface PoliteCalls {
  readonly url: string;
  readonly rootKey: string;
  readonly body: string;
  readonly perSecond: number;
  readonly seconds: number;
}

/** Milliseconds. */
export interface Politeness {
  readonly calls: number;
  readonly p50: number;
  readonly p99: number;
  /** Answers other than 200, and calls that had none. */
  readonly failed: number;
}

const { url, rootKey, body, perSecond, seconds }: PoliteCalls = JSON.parse(process.argv[2] ?? "{}");
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), authorization: `Bearer ${rootKey}` };
const latencies: number[] = [];
let failed = 0;
const call = (due: number): Promise<void> =>
  new Promise((resolve) => {
    const done = (isGood: boolean) => {
      latencies.push(systemClock.monotonic() - due);
      if (!isGood) failed++;
      resolve();
    };
    const sent = request(url, { agent, method: "POST", headers, timeout: PATIENCE }, (response) => {
      response.resume();
      response.on("end", () => done(response.statusCode === 200)).on("error", () => done(false));
    });
    sent.on("timeout", () => sent.destroy(new Error("no answer"))).on("error", () => done(false));
    sent.end(body);
  });

const start = systemClock.monotonic();
const running: Promise<void>[] = [];
for (let i = 0; i < perSecond * seconds; i++) {
  const due = start + (i * 1_000) / perSecond;
  const wait = due - systemClock.monotonic();
  if (wait > 0) await sleep(wait);
  running.push(call(due));
}
await Promise.all(running);
latencies.sort((a, b) => a - b);
const at = (share: number): number => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN;
const result: Politeness = { calls: latencies.length, p50: at(0.5), p99: at(0.99), failed };
console.log(JSON.stringify(result));
process.exit();
