/**
 * `npm run bench:memory [-- --counters N] [--embedded] [--json]`: what a counter of a rate limit costs while it is remembered, and
 * whether many of them hold up the event loop. Checks N distinct identifiers of 20 characters (1,000,000 unless told) on
 * a limiter whose store answers at once and keeps nothing, and compares the resident memory of the process before and
 * after. Then lets them all be forgotten. Fails above 300 bytes each or a 99th percentile of 50 ms. With `--embedded` the
 * limiter is on an embedded store, which keeps a bounded number of counters in memory, whatever they are.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { createLimiter } from "../src/features/ratelimit/limiter.ts";
import { compileOverrides } from "../src/features/ratelimit/overridePattern.ts";
import { namespaceCheck } from "../src/features/ratelimit/procedures/shared/namespaceCheck.ts";
import { systemClock } from "../src/platform/base/clock.ts";
import { createId } from "../src/platform/base/ids.ts";
import { chargeCounter } from "../src/platform/storage/counters/planCharge.ts";
import { openEmbeddedStore } from "../src/platform/storage/embedded/openEmbeddedStore.ts";
import type { Counters } from "../src/platform/storage/port/counters.ts";

const MOST_BYTES = 300;
const MOST_DELAY_MS = 50;
/** Calls that arrive in one turn of the event loop. */
const PER_TURN = 50;
const WARM_UP = 100_000;

const { values } = parseArgs({
  options: {
    counters: { type: "string", default: "1000000" },
    embedded: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const total = Math.min(10_000_000, Math.max(1_000, Math.trunc(Number(values.counters)) || 1_000_000));

const forgetful: Counters = {
  isShared: true,
  read: async () => null,
  charge: async (_, request) => chargeCounter(null, request).answer,
  refund: async () => undefined,
};

let skipped = 0;
const clock = { now: () => systemClock.now() + skipped, monotonic: () => systemClock.monotonic() + skipped };
const directory = mkdtempSync(join(tmpdir(), "latchkey-bench-"));
const embedded = values.embedded ? openEmbeddedStore({ directory, clock, mode: "server" }) : undefined;
await embedded?.prepare();
const limiter = createLimiter({ clock, counters: embedded ? embedded.counters : forgetful, storeDown: "deny" });
const now = systemClock.now();
const namespace = {
  namespace: { _id: createId("rlns", now), v: 1, workspaceId: "ws", createdAt: now, name: "bench" },
  overrides: compileOverrides([]),
};

/** As a request brings it: a text of its own, parsed from bytes. */
const identifierOf = (i: number): string => JSON.parse(`"user_${String(i).padStart(15, "0")}"`) as string;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const checkAll = async (from: number, to: number): Promise<void> => {
  for (let i = from; i < to; ) {
    const calls: unknown[] = [];
    for (const end = Math.min(to, i + PER_TURN); i < end; i++) {
      const { check } = namespaceCheck(namespace, { identifier: identifierOf(i), limit: 100n, duration: 60_000n });
      calls.push(limiter.check([check], clock.now()));
    }
    await Promise.all(calls);
    await turn();
  }
};

/** Sweeps until nothing is left, as the service would in a minute. */
const forgetAll = async (): Promise<void> => {
  skipped += 3_600_000;
  while (limiter.size() > 0) {
    await limiter.reclaimIdle();
    await turn();
  }
};

// Code is compiled and the heap has found its size before anything is measured.
await checkAll(0, WARM_UP);
await forgetAll();
limiter.start();
const before = process.memoryUsage().rss;
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
await checkAll(WARM_UP, WARM_UP + total);
const after = process.memoryUsage().rss;
const kept = limiter.size();
await forgetAll();
delay.disable();
await limiter.stop();
await embedded?.close();
rmSync(directory, { recursive: true });

const result = {
  counters: embedded ? total : kept,
  megabytes: Math.round((after - before) / 1024 ** 2),
  bytesEach: Math.round((after - before) / (embedded ? total : kept)),
  eventLoopDelayMs: { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 },
  left: limiter.size(),
};
if (values.json) console.log(JSON.stringify(result, null, 2));
else {
  const { counters, megabytes, bytesEach, eventLoopDelayMs } = result;
  console.log(`${counters.toLocaleString("en")} counters: ${bytesEach} bytes of resident memory each, ${megabytes} MB`);
  console.log(`event-loop delay: p99 ${eventLoopDelayMs.p99.toFixed(1)} ms, longest ${eventLoopDelayMs.max.toFixed(1)} ms`);
}
if ((!embedded && result.bytesEach > MOST_BYTES) || result.eventLoopDelayMs.p99 > MOST_DELAY_MS) {
  console.error(`more than ${MOST_BYTES} bytes each, or than ${MOST_DELAY_MS} ms`);
  process.exitCode = 1;
}
