import type { CounterChange } from "./counterLogStore.ts";

/** What the logs together say of one counter: `current` counts window `seq`, `previous` the one before it. */
export interface WindowCount {
  seq: number;
  current: number;
  previous: number;
  /** What `previous` was when whoever counts on this node was told of the counter last, and in which window that was. */
  told: number;
  toldSeq: number;
}

/** The counters that the logs tell of. In whatever order the changes come, the counts are the same. */
export interface WindowCounts {
  readonly get: (key: string) => WindowCount | undefined;
  readonly apply: (change: CounterChange) => void;
  /** Forgets what has not changed since it was called last but one. */
  readonly age: () => void;
  /** Those that changed lately, and the others. */
  readonly parts: () => readonly ReadonlyMap<string, WindowCount>[];
}

/** Makes the count what it is after a change of its counter. */
export const applyChange = (count: WindowCount, { seq, amount }: CounterChange): void => {
  if (amount === null) {
    if (count.seq <= seq) return;
    count.current += count.previous;
    count.previous = 0;
    count.seq = seq;
  } else if (seq > count.seq) {
    count.previous = seq === count.seq + 1 ? count.current : 0;
    count.current = amount;
    count.seq = seq;
  } else if (seq === count.seq) count.current += amount;
  else if (seq === count.seq - 1) count.previous += amount;
};

export const emptyCount = (): WindowCount => ({ seq: -1, current: 0, previous: 0, told: 0, toldSeq: -1 });

export const createWindowCounts = (): WindowCounts => {
  let lately = new Map<string, WindowCount>();
  let before = new Map<string, WindowCount>();
  const get = (key: string): WindowCount | undefined => lately.get(key) ?? before.get(key);
  return {
    get,
    apply: (change) => {
      const { key } = change;
      let count = lately.get(key);
      if (count === undefined) {
        count = before.get(key) ?? emptyCount();
        lately.set(key, count);
      }
      applyChange(count, change);
    },
    age: () => {
      before = lately;
      lately = new Map();
    },
    parts: () => [lately, before],
  };
};
