import { weightedPrevious } from "../../src/platform/storage/counters/slidingWindow.ts";

/** One passed call, in the merged log of all nodes. */
export interface Admission {
  /** The window that it was charged to. */
  readonly seq: number;
  /** When it was admitted, Unix ms within that window: on the clock that is ahead of all others. */
  readonly at: number;
  readonly cost: number;
}

/**
 * What the admissions took beyond the inequality of ratelimit §3: each is judged in order of time against all that were
 * admitted before it in its window, and all of the window before. 0 = nobody ever admitted too much.
 */
export const countExcess = (log: readonly Admission[], limit: number, duration: number): number => {
  const totals = new Map<number, number>();
  for (const { seq, cost } of log) totals.set(seq, (totals.get(seq) ?? 0) + cost);
  const counts = new Map<number, number>();
  let excess = 0;
  for (const { seq, at, cost } of log.toSorted((a, b) => a.seq - b.seq || a.at - b.at)) {
    const used = (counts.get(seq) ?? 0) + weightedPrevious(totals.get(seq - 1) ?? 0, at, duration);
    counts.set(seq, (counts.get(seq) ?? 0) + cost);
    if (used + cost > limit) excess += Math.min(cost, used + cost - limit);
  }
  return excess;
};

/** How many calls of cost 1 at these times (Unix ms, ascending) the formula of ratelimit §3 lets pass. */
export const countPasses = (times: Iterable<number>, limit: number, duration: number): number => {
  let passed = 0;
  let [seq, current, previous] = [-1, 0, 0];
  for (const now of times) {
    const window = Math.floor(now / duration);
    if (window !== seq) {
      previous = window === seq + 1 ? current : 0;
      current = 0;
      seq = window;
    }
    if (current + weightedPrevious(previous, now, duration) >= limit) continue;
    current++;
    passed++;
  }
  return passed;
};
