import type { Behalf } from "../base/behalf.ts";
import type { Clock } from "../base/clock.ts";
import type { CacheEntry } from "./cacheEntry.ts";
import { SILENT_AFTER_MS } from "./contact.ts";
import type { Invalidations } from "./invalidations.ts";

/** A load is shared for this long: later calls have to see what was acknowledged after it began. */
const JOINABLE_FOR_MS = SILENT_AFTER_MS;

/** A load in flight that calls for the same key share (single flight). */
export interface InFlightLoad<V> {
  /** Of `Invalidations`, when it began. */
  readonly sequence: number;
  /** Monotonic ms. */
  readonly began: number;
  readonly result: Promise<CacheEntry<V>>;
}

/** Loads entries so that calls for one key at the same time share one load. */
export interface SharedLoads<V> {
  /** Starts a load that later calls may join. */
  readonly start: (key: string, now: number, behalf: Behalf | undefined) => InFlightLoad<V>;
  /** Joins a load in flight, or starts one. The entry has every change that was acknowledged before `now`. */
  readonly load: (key: string, now: number, behalf: Behalf | undefined) => Promise<CacheEntry<V>>;
  /** The load in flight that a call at `now` may join, provided that it turns out to have seen all changes until then. */
  readonly joinable: (key: string, now: number) => InFlightLoad<V> | undefined;
  /** The same, if nothing at all has changed since it began. */
  readonly joinableUnchanged: (key: string, now: number) => InFlightLoad<V> | undefined;
  readonly isRunning: (key: string) => boolean;
}

export interface SharedLoadsOptions<V> {
  readonly clock: Pick<Clock, "monotonic">;
  readonly invalidations: Pick<Invalidations, "sequence" | "changedSince">;
  /** Reads the entry from the store. `sequence` and `began` are those of the load. */
  readonly read: (key: string, sequence: number, began: number, behalf: Behalf | undefined) => Promise<CacheEntry<V>>;
}

export const createSharedLoads = <V>({ clock, invalidations, read }: SharedLoadsOptions<V>): SharedLoads<V> => {
  /** The latest load of each key. */
  const inFlight = new Map<string, InFlightLoad<V>>();

  const start: SharedLoads<V>["start"] = (key, now, behalf) => {
    const sequence = invalidations.sequence();
    const result = read(key, sequence, now, behalf).finally(() => {
      if (inFlight.get(key) === running) inFlight.delete(key);
    });
    const running: InFlightLoad<V> = { sequence, began: now, result };
    inFlight.set(key, running);
    return running;
  };

  const joinable: SharedLoads<V>["joinable"] = (key, now) => {
    const running = inFlight.get(key);
    return running !== undefined && now - running.began < JOINABLE_FOR_MS ? running : undefined;
  };

  /** Waits for a load that began before this call, and for a later one if something changed in between. */
  const join = async (running: InFlightLoad<V>, key: string, now: number, behalf: Behalf | undefined): Promise<CacheEntry<V>> => {
    const sequence = invalidations.sequence();
    const entry = await running.result;
    const isOutdated = running.sequence !== sequence && invalidations.changedSince(entry.dependsOn, running.sequence);
    if (!isOutdated && now < entry.sureUntil) return entry;
    const next = inFlight.get(key);
    const isLater = next !== undefined && next.began >= now && next.sequence >= sequence;
    return (isLater ? next : start(key, clock.monotonic(), behalf)).result;
  };

  return {
    start,
    load: (key, now, behalf) => {
      const running = joinable(key, now);
      return running === undefined ? start(key, now, behalf).result : join(running, key, now, behalf);
    },
    joinable,
    joinableUnchanged: (key, now) => {
      const running = joinable(key, now);
      return running?.sequence === invalidations.sequence() ? running : undefined;
    },
    isRunning: (key) => inFlight.has(key),
  };
};
