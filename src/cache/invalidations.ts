import type { Clock } from "../domain/clock.ts";

/** How long an invalidation is remembered: longer than any cached entry lives plus the longest load. */
const MEMORY_MS = 60_000;

/**
 * What this node knows to have changed. Every change moves `sequence`; a cached value remembers the sequence at
 * which its load began and is void once an id it depends on changed after that.
 */
export interface Invalidations {
  readonly sequence: () => number;
  readonly invalidate: (ids: readonly string[]) => void;
  /** True when one of `ids` changed after `sequence`, which must not be older than `MEMORY_MS`. */
  readonly changedSince: (ids: readonly string[], sequence: number) => boolean;
}

export const createInvalidations = (clock: Clock): Invalidations => {
  let sequence = 0;
  // Two generations instead of a time per id: both are forgotten as a whole.
  let young = new Map<string, number>();
  let old = new Map<string, number>();
  let rotatedAt = clock.monotonic();

  const rotate = (): void => {
    const now = clock.monotonic();
    if (now - rotatedAt < MEMORY_MS) return;
    old = young;
    young = new Map();
    rotatedAt = now;
  };

  return {
    sequence: () => sequence,
    invalidate: (ids) => {
      rotate();
      sequence++;
      for (const id of ids) young.set(id, sequence);
    },
    changedSince: (ids, since) => {
      for (const id of ids) {
        if ((young.get(id) ?? old.get(id) ?? 0) > since) return true;
      }
      return false;
    },
  };
};
