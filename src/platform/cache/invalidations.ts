import type { Clock } from "../base/clock.ts";
import type { Contact } from "./contact.ts";

/**
 * How long an invalidation is remembered: longer than the longest load, and than a value that was read when the feed was
 * heard may answer once it is heard again.
 */
const MEMORY_MS = 60_000;
/** Ids of one generation; whoever changes more in that time makes everything void. A map holds 16 million, and takes a gigabyte for it. */
const MOST_IDS = 2_000_000;
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
  /** Makes everything void: what changed cannot be told any more. */
  readonly forgetAll: () => void;
  /** True when one of `ids` changed after `sequence`, which must not be older than what is remembered. */
  readonly changedSince: (ids: readonly string[], sequence: number) => boolean;
  /** True when what a load read that began at this monotonic time may be from before a change of one of `ids`: it is not good for longer than a second. */
  readonly isHeld: (ids: readonly string[], began: number) => boolean;
}

/** Times, or numbers, by id. Two generations instead of a time per id: both are forgotten as a whole. */
const createMemory = (time: () => number) => {
  let young = new Map<string, number>();
  let old = new Map<string, number>();
  let rotatedAt = time();
  return {
    isEmpty: (): boolean => young.size + old.size === 0,
    isFull: (more: number): boolean => young.size + more > MOST_IDS,
    clear: (): void => {
      young = new Map();
      old = new Map();
    },
    get: (id: string): number | undefined => young.get(id) ?? old.get(id),
    set: (ids: readonly string[], value: number): void => {
      const now = time();
      if (now - rotatedAt >= MEMORY_MS) {
        old = young;
        young = new Map();
        rotatedAt = now;
      }
      for (const id of ids) young.set(id, value);
    },
  };
};

/**
 * @param contact where values may answer without contact with the feed: however long that is missing, they may answer only
 * if they were read within 30 s of when it was heard last, so changes are remembered until it has been heard for long enough.
 */
export const createInvalidations = (clock: Clock, contact?: Pick<Contact, "heardAt">): Invalidations => {
  let sequence = 0;
  /** What was read before this one is void, whatever it depends on. */
  let floor = 0;
  const changed = createMemory(contact ? () => contact.heardAt : clock.monotonic);
  const heard = createMemory(clock.monotonic);

  const forgetAll = (): void => {
    floor = ++sequence;
    changed.clear();
  };
  const invalidate = (ids: readonly string[]): void => {
    if (changed.isFull(ids.length)) forgetAll();
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
    forgetAll,
    changedSince: (ids, since) => {
      if (since < floor) return true;
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
