import { windowAt } from "../../platform/storage/counters/slidingWindow.ts";
import { createCompactCounters } from "./compactCounters.ts";
import { createLocalCounter, type LocalCounter } from "./localCounter.ts";
import { resumableWalk } from "./resumableWalk.ts";

/**
 * An idle counter is forgotten after two windows, in which its counts lose all weight, or after this long; what it knew
 * is read again when needed.
 */
const FORGET_IDLE_MS = 60_000;
/** A counter that nobody has asked for so long is kept in its compact form. */
const COMPACT_IDLE_MS = 1_000;
/**
 * A map in which much comes and goes is made anew after so many: the tables that it has outgrown hang together, and one
 * that the collector takes for old keeps all later ones, with what was in them, until the next full collection.
 */
const LEAST_ARRIVALS = 1_000;

/** The local counters by key: what this node remembers of the shared ones. */
export interface LocalCounterTable {
  /** The counter of a check, with what is still known of it; a new one knows nothing. */
  readonly open: (key: string, duration: number, monotonic: number) => LocalCounter;
  /** One that may hold something, as it is: looking leaves no trace. */
  readonly find: (key: string) => LocalCounter | undefined;
  /** Keeps less of a counter that holds nothing and that no call waits for. Calls under way may still read the object. */
  readonly close: (counter: LocalCounter, monotonic: number) => void;
  /** Looks at about `count` counters, from where it stopped last time: makes compact what is idle, forgets what is idle for long. */
  readonly evictIdle: (count: number, now: number, monotonic: number) => void;
  readonly size: () => number;
}

export interface LocalCounterTableOptions {
  /** Calls wait for this counter. */
  readonly isBusy: (counter: LocalCounter) => boolean;
  /** What the store said of a counter is worth keeping: false where asking again costs less. */
  readonly keepsWhatIsKnown: boolean;
}

export const createLocalCounterTable = ({ isBusy, keepsWhatIsKnown }: LocalCounterTableOptions): LocalCounterTable => {
  const active = new Map<string, LocalCounter>();
  /** Those that were opened a moment ago, most of which are closed at once. */
  let arrivals = new Map<string, LocalCounter>();
  let renewAfter = LEAST_ARRIVALS;
  const compact = keepsWhatIsKnown ? createCompactCounters() : undefined;
  const walkActive = resumableWalk(active);

  const restore = (key: string, duration: number): LocalCounter => {
    const counter = createLocalCounter(key, duration);
    const known = compact?.take(key);
    if (known === undefined) return counter;
    // The answer by which it was learned was that to a charge, as far as the pace of charging matters.
    return Object.assign(counter, known, { chargedAt: known.learnedAt });
  };

  const arrive = (counter: LocalCounter): void => {
    if (--renewAfter <= 0) {
      arrivals = new Map(arrivals);
      renewAfter = Math.max(LEAST_ARRIVALS, 2 * arrivals.size);
    }
    arrivals.set(counter.key, counter);
  };

  const makeCompact = (counter: LocalCounter, monotonic: number): void => {
    compact?.put(counter.key, counter, monotonic + Math.min(FORGET_IDLE_MS, 2 * counter.duration));
  };

  const holdsNothing = (counter: LocalCounter): boolean => counter.held === 0 && counter.reserved === 0 && !isBusy(counter);

  /** Admissions without the store count for their window: until it is over, a store that comes and goes gives no more. */
  const hasAdmittedAway = ({ awaySpent, awaySeq, duration }: LocalCounter, now: number): boolean =>
    awaySpent > 0 && awaySeq >= windowAt(now, duration);

  return {
    open: (key, duration, monotonic) => {
      let counter = active.get(key) ?? arrivals.get(key);
      if (counter === undefined) {
        counter = restore(key, duration);
        arrive(counter);
      }
      counter.usedAt = monotonic;
      return counter;
    },
    find: (key) => active.get(key) ?? arrivals.get(key),
    close: (counter, monotonic) => {
      const isPlain = counter.awaySpent === 0 && counter.chunk === 1 && holdsNothing(counter);
      if (!isPlain) return;
      const place = arrivals.get(counter.key) === counter ? arrivals : active;
      if (place.get(counter.key) !== counter) return;
      place.delete(counter.key);
      makeCompact(counter, monotonic);
    },
    evictIdle: (count, now, monotonic) => {
      for (const counter of arrivals.values()) active.set(counter.key, counter);
      arrivals = new Map();
      for (const counter of walkActive(count)) {
        const isIdle = monotonic - counter.usedAt >= COMPACT_IDLE_MS && holdsNothing(counter) && !hasAdmittedAway(counter, now);
        if (!isIdle) continue;
        active.delete(counter.key);
        makeCompact(counter, counter.usedAt);
      }
      compact?.forget(count, monotonic);
    },
    size: () => active.size + arrivals.size + (compact?.size() ?? 0),
  };
};
