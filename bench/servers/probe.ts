/**
 * Preloaded into every Node server of the benchmarks: answers over the channel to its parent what held up its main thread, and
 * what that allocated. Does nothing until it is asked.
 */
import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import { type HeapProfiler, Session } from "node:inspector/promises";
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import { isMainThread } from "node:worker_threads";
import { systemClock } from "../../src/platform/base/clock.ts";

/** Time in which the main thread served nobody. Milliseconds, `from` of the Unix epoch. */
export interface Pause {
  /** `collection`: the collector had stopped the thread. `loop`: the event loop was late by so much, whatever kept it. */
  readonly kind: "collection" | "loop";
  readonly from: number;
  readonly length: number;
  /** Of `loop`: how long the thread was ready to run meanwhile, and had no core. */
  readonly waited?: number;
}

/** Bytes that one function allocated itself, by the sampling profiler. */
export interface Allocator {
  readonly name: string;
  readonly place: string;
  readonly bytes: number;
}

export interface Answers {
  /** Begins to note pauses; the answer is empty. */
  watch: Record<string, never>;
  /** The pauses since then; none are noted any more. */
  pauses: readonly Pause[];
  /** All that was allocated in the heap since the start, in bytes. */
  allocated: number;
  /** Begins to sample allocations; the answer is empty. */
  sample: Record<string, never>;
  /** What was sampled since then. Only of the main thread. */
  allocators: readonly Allocator[];
}

/** How often the event loop is looked at. */
const TICK_MS = 5;
/** Shorter pauses are not told. */
const LEAST_MS = 2;
/** Average distance of two samples, in bytes. */
const SAMPLED_EVERY = 8 * 1024;

/** Milliseconds for which this thread has waited for a core so far. */
const waitedForCore = (): number => Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ")[1]) / 1e6;

/** Notes pauses until it is asked for them. */
const watch = (): (() => readonly Pause[]) => {
  const pauses: Pause[] = [];
  const observer = new PerformanceObserver((list) => {
    const origin = systemClock.now() - systemClock.monotonic();
    for (const { startTime, duration } of list.getEntries()) {
      if (duration >= LEAST_MS) pauses.push({ kind: "collection", from: origin + startTime, length: duration });
    }
  });
  observer.observe({ type: "gc" });
  let tickedAt = systemClock.monotonic();
  let waited = waitedForCore();
  const timer = setInterval(() => {
    const now = systemClock.monotonic();
    const length = now - tickedAt - TICK_MS;
    const waitedBefore = waited;
    waited = waitedForCore();
    if (length >= LEAST_MS) pauses.push({ kind: "loop", from: systemClock.now() - length, length, waited: waited - waitedBefore });
    tickedAt = now;
  }, TICK_MS).unref();
  return () => {
    observer.disconnect();
    clearInterval(timer);
    return pauses;
  };
};
let watched: ReturnType<typeof watch> = () => [];

const session = new Session();

const sample = async (): Promise<void> => {
  session.connect();
  await session.post("HeapProfiler.startSampling", {
    samplingInterval: SAMPLED_EVERY,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
};

const placeOf = ({ url, lineNumber }: { readonly url: string; readonly lineNumber: number }): string => {
  const file = url.replace(/^file:\/\/.*?\/(?=src\/|gen\/|bench\/|node_modules\/)/, "");
  return file === "" ? "" : `${file}:${lineNumber + 1}`;
};

const allocators = async (): Promise<readonly Allocator[]> => {
  const { profile } = await session.post("HeapProfiler.stopSampling");
  session.disconnect();
  const found = new Map<string, Allocator>();
  const add = ({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode): void => {
    const [name, place] = [callFrame.functionName || "(anonymous)", placeOf(callFrame)];
    const id = `${name}\0${place}`;
    found.set(id, { name, place, bytes: (found.get(id)?.bytes ?? 0) + selfSize });
    children.forEach(add);
  };
  add(profile.head);
  return [...found.values()].sort((a, b) => b.bytes - a.bytes);
};

const answers: { readonly [Q in keyof Answers]: () => Answers[Q] | Promise<Answers[Q]> } = {
  watch: () => {
    watched = watch();
    return {};
  },
  pauses: () => watched(),
  allocated: () => getHeapStatistics().total_allocated_bytes,
  sample: async () => {
    await sample();
    return {};
  },
  allocators,
};

// A worker of a service has its channel to the service's first process.
if (isMainThread && cluster.isPrimary) {
  process.on("message", async (question: keyof Answers) => process.send?.({ question, answer: await answers[question]() }));
  process.channel?.unref();
}
