import { hash } from "node:crypto";

/** What is worth keeping of a local counter that holds nothing: what the store said of it last. */
export interface CompactCounter {
  readonly seq: number;
  readonly current: number;
  readonly previous: number;
  readonly stored: boolean;
  /** Monotonic ms. */
  readonly learnedAt: number;
}

/** A hash table of many counters in little memory, outside of the heap, so that no garbage collection has to look at them. */
export interface CompactCounters {
  /** Keeps the counter until `forgetAt` (monotonic ms), or a while longer. */
  readonly put: (key: string, counter: CompactCounter, forgetAt: number) => void;
  /** Gives it out and keeps it no longer. Its time was rounded down to 16 ms. */
  readonly take: (key: string) => CompactCounter | undefined;
  /** Forgets what is due among `count` counters or some more, from where it stopped last time. */
  readonly forget: (count: number, monotonic: number) => void;
  readonly size: () => number;
}

/** Tables that grow one by one: growing copies a table, and one of a million counters would hold up the event loop. */
const SHARDS = 256;
const LEAST_SLOTS = 16;
/** Of the slots of a table, before it grows; a new one is two thirds full at most. */
const MOST_LOAD = 0.75;
const SLOTS_PER_COUNTER = 1.5;

/** A slot is a row of words and one of numbers. The first four words are the key's fingerprint. */
const WORDS = 6;
const LEARNED_AT = 4;
const FORGET_AT = 5;
const NUMBERS = 3;

/** Times are ticks of 16 ms, so that 32 bits last for a year of running; after that, counters are only forgotten earlier. */
const TICK_MS = 16;
/** Of `LEARNED_AT`: two values for each tick, odd ones for what is stored; the first two for never. */
const NEVER = 0;
/** Of `FORGET_AT`: nothing was ever here, or it was taken or is due. Ticks come after. */
const EMPTY = 0;
const GONE = 1;
const FIRST_TICK = 2;

interface Shard {
  words: Uint32Array;
  numbers: Float64Array;
  slots: number;
  /** Slots that are not empty. */
  used: number;
  /** Slots with a counter. */
  live: number;
}

const tick = (monotonic: number): number => Math.floor(Math.max(0, monotonic) / TICK_MS);

const emptyShard = (slots: number): Shard => ({
  words: new Uint32Array(slots * WORDS),
  numbers: new Float64Array(slots * NUMBERS),
  slots,
  used: 0,
  live: 0,
});

/** Stands for every table that has not held anything yet. Nothing is written to it. */
const untouched = emptyShard(LEAST_SLOTS);

/** The slot of the fingerprint in `from` at `at`, or the empty one where it would be. */
const slotOf = ({ words, slots }: Shard, from: Uint32Array, at: number): number => {
  let slot = (from[at + 1] ?? 0) & (slots - 1);
  for (;;) {
    const row = slot * WORDS;
    if (words[row + FORGET_AT] === EMPTY) return slot;
    if (words[row] === from[at] && words[row + 1] === from[at + 1] && words[row + 2] === from[at + 2] && words[row + 3] === from[at + 3]) {
      return slot;
    }
    slot = (slot + 1) & (slots - 1);
  }
};

/** The same counters in a table of a fitting size. */
const rebuilt = (shard: Shard): Shard => {
  let slots = LEAST_SLOTS;
  while (slots < shard.live * SLOTS_PER_COUNTER) slots *= 2;
  const next = emptyShard(slots);
  for (let from = 0; from < shard.slots; from++) {
    if ((shard.words[from * WORDS + FORGET_AT] ?? EMPTY) < FIRST_TICK) continue;
    const to = slotOf(next, shard.words, from * WORDS);
    next.words.set(shard.words.subarray(from * WORDS, (from + 1) * WORDS), to * WORDS);
    next.numbers.set(shard.numbers.subarray(from * NUMBERS, (from + 1) * NUMBERS), to * NUMBERS);
  }
  next.used = shard.live;
  next.live = shard.live;
  return next;
};

export const createCompactCounters = (): CompactCounters => {
  const shards = Array<Shard>(SHARDS).fill(untouched);
  const fingerprint = new Uint32Array(4);

  /** Computes the fingerprint of the key: long enough and of a kind that no two keys share one, whoever chose them. */
  const shardOf = (key: string): number => {
    // As text: a buffer would be memory outside of the heap, for each call.
    const digest = hash("sha256", key, "latin1");
    for (let i = 0; i < fingerprint.length; i++) {
      const at = 4 * i;
      const low = digest.charCodeAt(at) | (digest.charCodeAt(at + 1) << 8);
      fingerprint[i] = low | (digest.charCodeAt(at + 2) << 16) | (digest.charCodeAt(at + 3) << 24);
    }
    return (fingerprint[0] ?? 0) % SHARDS;
  };

  const replace = (index: number): Shard => {
    const next = rebuilt(shards[index] as Shard);
    shards[index] = next;
    return next;
  };

  const forgetIn = (index: number, due: number): void => {
    const shard = shards[index] as Shard;
    const { words, slots, used } = shard;
    // Most tables of a node that has a few counters.
    if (used === 0) return;
    for (let at = FORGET_AT; at < slots * WORDS; at += WORDS) {
      const forgetAt = words[at] ?? EMPTY;
      if (forgetAt < FIRST_TICK || forgetAt > due) continue;
      words[at] = GONE;
      shard.live--;
    }
    if (shard.live < used / 2) replace(index);
  };

  let nextShard = 0;

  return {
    put: (key, { seq, current, previous, stored, learnedAt }, forgetAt) => {
      const index = shardOf(key);
      let shard = shards[index] as Shard;
      if (shard === untouched || shard.used >= shard.slots * MOST_LOAD) shard = replace(index);
      const slot = slotOf(shard, fingerprint, 0);
      const row = slot * WORDS;
      const before = shard.words[row + FORGET_AT] ?? EMPTY;
      if (before === EMPTY) shard.used++;
      if (before < FIRST_TICK) shard.live++;
      shard.words.set(fingerprint, row);
      shard.words[row + LEARNED_AT] = (learnedAt < 0 ? NEVER : 2 * (tick(learnedAt) + 1)) + (stored ? 1 : 0);
      shard.words[row + FORGET_AT] = tick(forgetAt) + FIRST_TICK;
      shard.numbers[slot * NUMBERS] = seq;
      shard.numbers[slot * NUMBERS + 1] = current;
      shard.numbers[slot * NUMBERS + 2] = previous;
    },
    take: (key) => {
      const shard = shards[shardOf(key)] as Shard;
      const slot = slotOf(shard, fingerprint, 0);
      const row = slot * WORDS;
      if ((shard.words[row + FORGET_AT] ?? EMPTY) < FIRST_TICK) return undefined;
      shard.words[row + FORGET_AT] = GONE;
      shard.live--;
      const learned = shard.words[row + LEARNED_AT] ?? NEVER;
      return {
        seq: shard.numbers[slot * NUMBERS] ?? 0,
        current: shard.numbers[slot * NUMBERS + 1] ?? 0,
        previous: shard.numbers[slot * NUMBERS + 2] ?? 0,
        stored: learned % 2 === 1,
        learnedAt: learned < 2 ? Number.NEGATIVE_INFINITY : ((learned >>> 1) - 1) * TICK_MS,
      };
    },
    forget: (count, monotonic) => {
      let looked = 0;
      for (let visited = 0; visited < SHARDS && looked < count; visited++) {
        looked += (shards[nextShard] as Shard).used;
        forgetIn(nextShard, tick(monotonic) + FIRST_TICK);
        nextShard = (nextShard + 1) % SHARDS;
      }
    },
    size: () => shards.reduce((sum, { live }) => sum + live, 0),
  };
};
