import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../src/platform/base/clock.ts";
import { type Admission, countExcess, countPasses } from "./admissions.ts";
import type { Cluster } from "./cluster.ts";
import { type Accuracy, type Combination, rateOf } from "./matrix.ts";

/** Combinations of the matrix with windows of 10 s, run at the same time on the same three processes. */
export const realCombinations: readonly Combination[] = [
  { nodes: 3, limit: 100, duration: 10_000, factor: 1, windows: 3 },
  { nodes: 3, limit: 100, duration: 10_000, factor: 2, windows: 3 },
  { nodes: 3, limit: 1_000, duration: 10_000, factor: 1.5, windows: 3 },
];

/** Operations on the counters of the store, by all nodes so far. */
const countOperations = async ({ nodes }: Cluster): Promise<number> => {
  const pages = await Promise.all(nodes.map(async ({ service }) => (await fetch(`${service.adminUrl}/metrics`)).text()));
  const samples = pages.join("\n").matchAll(/^latchkey_store_operations_total\{collection="counters",[^}]*\} (\d+)$/gm);
  return [...samples].reduce((sum, [, count]) => sum + Number(count), 0);
};

type RealAccuracy = Omit<Accuracy, "storeOperations"> & {
  /** The longest that a call was sent late or waited for its answer, in ms: how busy the machine was. */
  readonly longestWait: number;
};

/** One load on running processes, in real time. */
const run = async ({ nodes, rootKey }: Cluster, combination: Combination): Promise<RealAccuracy> => {
  const { limit, duration, factor, windows } = combination;
  const rate = rateOf(combination);
  const total = rate * Math.ceil((windows * duration) / 1_000);
  const body = { namespace: `accuracy ${limit} ${duration} ${factor}`, identifier: "everyone", limit, duration };
  const sent: number[] = [];
  let longestWait = 0;
  const log: Admission[] = [];
  const ask = async (): Promise<void> => {
    const node = nodes[Math.floor(Math.random() * nodes.length)];
    const sentAt = systemClock.now();
    const answer = await node?.edge.call("ratelimit.limit", body, rootKey);
    longestWait = Math.max(longestWait, systemClock.now() - sentAt);
    // The store was too busy to tell whether there is such a namespace: nothing was checked.
    if (answer?.status === 503) return;
    sent.push(sentAt);
    const { success, reset } = (answer?.body.data ?? {}) as { success?: boolean; reset?: number };
    if (success === undefined || reset === undefined) throw new Error(`a check was not answered: ${JSON.stringify(answer?.body)}`);
    if (success) log.push({ seq: reset / duration - 1, at: Math.min(systemClock.now(), reset - 1), cost: 1 });
  };
  const calls: Promise<void>[] = [];
  const start = systemClock.monotonic();
  for (let i = 0; i < total; i++) {
    const wait = start + (i * 1_000) / rate - systemClock.monotonic();
    if (wait > 1) await sleep(wait);
    longestWait = Math.max(longestWait, -wait);
    const call = ask();
    // Whoever fails is heard of at the end.
    call.catch(() => undefined);
    calls.push(call);
  }
  await Promise.all(calls);
  return {
    ...combination,
    total,
    admitted: log.length,
    allowed: countPasses(
      sent.toSorted((a, b) => a - b),
      limit,
      duration,
    ),
    overAdmitted: countExcess(log, limit, duration),
    longestWait,
  };
};

/** Runs the combinations at the same time; the operations of the store are those of all of them together. */
export const runReal = async (
  cluster: Cluster,
  combinations: readonly Combination[] = realCombinations,
): Promise<{ readonly results: readonly RealAccuracy[]; readonly storeOperations: number }> => {
  const before = await countOperations(cluster);
  const results = await Promise.all(combinations.map((combination) => run(cluster, combination)));
  return { results, storeOperations: (await countOperations(cluster)) - before };
};
