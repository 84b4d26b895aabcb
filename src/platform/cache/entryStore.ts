import type { CacheEntry } from "./cacheEntry.ts";

/** Most second chances of one insertion: to walk a hundred thousand entries would block the event loop for 0.2 s. */
const MOST_SECOND_CHANCES = 200;
/** Share by which the bound may be exceeded. Later insertions evict the rest. */
const OVERDRAFT = 0.01;
/** The hand is lifted after this number of insertions without an eviction. */
const MOST_AT_REST = 1_000;

/** The entries of a cache, bounded in bytes by their own estimates. */
export interface EntryStore<V> {
  readonly get: (key: string) => CacheEntry<V> | undefined;
  /** Replaces what the key had and evicts other entries beyond the bound. An entry larger than the bound is not kept. */
  readonly keep: (key: string, entry: CacheEntry<V>) => void;
  readonly drop: (key: string) => void;
  readonly size: () => number;
  readonly bytes: () => number;
}

/** @param maxBytes of all entries together; a hundredth more for a time. */
export const createEntryStore = <V>(maxBytes: number): EntryStore<V> => {
  const entries = new Map<string, CacheEntry<V>>();
  let bytes = 0;
  /**
   * Where the next eviction continues. A new iterator would step over every hole that evictions left in the map: with 100,000
   * entries that took 90 µs. One at rest keeps what has left the map since.
   */
  let hand: MapIterator<[string, CacheEntry<V>]> | undefined;
  let insertionsAtRest = 0;

  const drop = (key: string): void => {
    const entry = entries.get(key);
    if (entry === undefined) return;
    bytes -= entry.bytes;
    entries.delete(key);
  };

  /** CLOCK: evicts the oldest, but gives those in use a second chance, so a flood of new keys evicts itself. */
  const evict = (): void => {
    let secondChances = 0;
    insertionsAtRest = 0;
    while (bytes > maxBytes) {
      if (secondChances === MOST_SECOND_CHANCES && bytes <= maxBytes * (1 + OVERDRAFT)) return;
      hand ??= entries.entries();
      const { done, value } = hand.next();
      if (done) {
        hand = undefined;
        continue;
      }
      const [key, entry] = value;
      entries.delete(key);
      if (entry.referenced && secondChances < MOST_SECOND_CHANCES) {
        secondChances++;
        entry.referenced = false;
        entries.set(key, entry);
      } else bytes -= entry.bytes;
    }
  };

  return {
    get: (key) => entries.get(key),
    keep: (key, entry) => {
      drop(key);
      if (entry.bytes > maxBytes) return;
      entries.set(key, entry);
      bytes += entry.bytes;
      if (bytes > maxBytes) evict();
      else if (++insertionsAtRest === MOST_AT_REST) hand = undefined;
    },
    drop,
    size: () => entries.size,
    bytes: () => bytes,
  };
};
