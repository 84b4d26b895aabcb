import { durationOfKey } from "../../../domain/counterKey.ts";
import type { CounterChange } from "./counterLogStore.ts";

/** The longest window whose counters are kept in logs, in milliseconds: what a log says weighs for two of them. */
export const LONGEST_WINDOW_MS: number = 60_000;

/** What the logs together say of one counter: `current` counts window `seq`, `previous` the one before it. */
export interface WindowCount {
  seq: number;
  current: number;
  previous: number;
  /** What `previous` was when whoever counts on this node was told of the counter last, and in which window that was. */
  told: number;
  toldSeq: number;
}

/** The counters that the logs tell of. In whatever order the changes come, the counts are the same, but for clocks that are set back. */
export interface WindowCounts {
  readonly get: (key: string) => WindowCount | undefined;
  readonly apply: (change: CounterChange) => void;
  /** Forgets what has not changed for two windows and a minute, as monotonic time tells. */
  readonly age: (monotonic: number) => void;
  readonly parts: () => readonly ReadonlyMap<string, WindowCount>[];
}

/**
 * Makes the count what it is after a change of its counter. Nothing that is given back begins a window: that is of one which a
 * clock that was ahead had counted, and which was set back since.
 */
export const applyChange = (count: WindowCount, { seq, amount }: CounterChange): void => {
  if (amount === null) {
    if (count.seq <= seq) return;
    count.current += count.previous;
    count.previous = 0;
    count.seq = seq;
  } else if (seq > count.seq) {
    if (amount < 0) return;
    count.previous = seq === count.seq + 1 ? count.current : 0;
    count.current = amount;
    count.seq = seq;
  } else if (seq === count.seq) count.current += amount;
  else if (seq === count.seq - 1) count.previous += amount;
};

export const emptyCount = (): WindowCount => ({ seq: -1, current: 0, previous: 0, told: 0, toldSeq: -1 });

/** Counters of windows up to so long are forgotten together, and the longer ones. Most limits are per second, or per minute. */
const SHORT_MS = 10_000;
const CLOCKS_APART_MS = 60_000;

/** Counters of windows up to `longest` milliseconds: those that changed lately, and those before them. */
const createGeneration = (longest: number) => {
  let lately = new Map<string, WindowCount>();
  let before = new Map<string, WindowCount>();
  let agedAt: number | undefined;
  return {
    get: (key: string): WindowCount | undefined => lately.get(key) ?? before.get(key),
    touch: (key: string): WindowCount => {
      let count = lately.get(key);
      if (count === undefined) {
        count = before.get(key) ?? emptyCount();
        lately.set(key, count);
      }
      return count;
    },
    age: (monotonic: number): void => {
      agedAt ??= monotonic;
      if (monotonic - agedAt < 2 * longest + CLOCKS_APART_MS) return;
      agedAt = monotonic;
      before = lately;
      lately = new Map();
    },
    parts: (): readonly ReadonlyMap<string, WindowCount>[] => [lately, before],
  };
};

export const createWindowCounts = (): WindowCounts => {
  const short = createGeneration(SHORT_MS);
  const long = createGeneration(LONGEST_WINDOW_MS);
  const of = (key: string) => ((durationOfKey(key) ?? LONGEST_WINDOW_MS) <= SHORT_MS ? short : long);
  return {
    get: (key) => of(key).get(key),
    apply: (change) => applyChange(of(change.key).touch(change.key), change),
    age: (monotonic) => {
      short.age(monotonic);
      long.age(monotonic);
    },
    parts: () => [...short.parts(), ...long.parts()],
  };
};
