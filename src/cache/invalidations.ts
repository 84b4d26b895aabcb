import type { Clock } from "../domain/clock.ts";

/** How long an invalidation is remembered, beside `longestLife`: longer than the longest load. */
const MEMORY_MS = 60_000;
/**
 * How long what is read of what was heard to change is good for a second only: an announcement comes up to 2 s before its
 * write, and a load may rest on a read that was sent a second before it.
 */
const HOLD_MS = 5_000;

/**
 * What this node knows to have changed. Every change moves `sequence`; a cached value remembers the sequence at
 * which its load began and is void once an id it depends on changed after that.
 */
export interface Invalidations {
  readonly sequence: () => number;
  /** What this node has written. */
  readonly invalidate: (ids: readonly string[]) => void;
  /** What has changed elsewhere, or will within seconds: void now, and `isHeld` for a while. */
  readonly hear: (ids: readonly string[]) => void;
  /** True when one of `ids` changed after `sequence`, which must not be older than what is remembered. */
  readonly changedSince: (ids: readonly string[], sequence: number) => boolean;
  /** True when what a load read that began at this monotonic time may be from before a change of one of `ids`: it is not good for longer than a second. */
  readonly isHeld: (ids: readonly string[], began: number) => boolean;
}

/** Times, or numbers, by id. Two generations instead of a time per id: both are forgotten as a whole. */
const createMemory = (clock: Clock, milliseconds: number) => {
  let young = new Map<string, number>();
  let old = new Map<string, number>();
  let rotatedAt = clock.monotonic();
  return {
    isEmpty: (): boolean => young.size + old.size === 0,
    get: (id: string): number | undefined => young.get(id) ?? old.get(id),
    set: (ids: readonly string[], value: number): void => {
      const now = clock.monotonic();
      if (now - rotatedAt >= milliseconds) {
        old = young;
        young = new Map();
        rotatedAt = now;
      }
      for (const id of ids) young.set(id, value);
    },
  };
};

/** @param longestLife the longest that anything is remembered that nobody loads again, in milliseconds. */
export const createInvalidations = (clock: Clock, longestLife = 0): Invalidations => {
  let sequence = 0;
  const changed = createMemory(clock, MEMORY_MS + longestLife);
  const heard = createMemory(clock, MEMORY_MS);

  const invalidate = (ids: readonly string[]): void => {
    sequence++;
    changed.set(ids, sequence);
  };

  return {
    sequence: () => sequence,
    invalidate,
    hear: (ids) => {
      invalidate(ids);
      heard.set(ids, clock.monotonic());
    },
    changedSince: (ids, since) => {
      for (const id of ids) {
        if ((changed.get(id) ?? 0) > since) return true;
      }
      return false;
    },
    isHeld: (ids, began) => {
      if (heard.isEmpty()) return false;
      for (const id of ids) {
        if (began < (heard.get(id) ?? Number.NEGATIVE_INFINITY) + HOLD_MS) return true;
      }
      return false;
    },
  };
};
