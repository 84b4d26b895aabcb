import type { Behalf } from "../base/behalf.ts";
import type { Clock } from "../base/clock.ts";
import { StoreOverloadedError } from "../storage/port/errors.ts";
import { type CacheEntry, MAX_AGE_MS } from "./cacheEntry.ts";
import { type Contact, SILENT_AFTER_MS } from "./contact.ts";
import type { InFlightLoad, SharedLoads } from "./sharedLoads.ts";

/** Bounds while the feed is silent: reads in flight of what is remembered, and milliseconds that a call waits for one. */
const MOST_SILENT_READS = 50;
const MOST_WAIT_MS = 500;

/**
 * Decides what a cache may answer when the store is slow or unreachable, which shows by the feed's silence: a remembered
 * entry answers for `contact.staleFor` after the feed was last heard, and the store is asked no more than it can take.
 */
export interface OutagePolicy<V> {
  /** True when the node knows of all changes up to a second ago. */
  readonly isHeard: (now: number) => boolean;
  /** True when the entry may answer although the store does not: it was good when the feed was last heard, not long ago. */
  readonly mayAnswer: (entry: CacheEntry<V>, now: number) => boolean;
  /**
   * Calls `behalf.degrade` unless the entry was read or confirmed in the second before the call.
   * @param asked when the call began, monotonic ms. @param wasHeard `isHeard` at that time
   */
  readonly reportIfStale: (entry: CacheEntry<V>, asked: number, wasHeard: boolean, behalf: Behalf | undefined) => CacheEntry<V>;
  /** Answers a call that `entry` may answer: from the store if that is quick, else from memory. */
  readonly readThrough: (
    entry: CacheEntry<V>,
    key: string,
    now: number,
    behalf: Behalf | undefined,
  ) => CacheEntry<V> | Promise<CacheEntry<V>>;
  /** Answers a call that no entry may answer. Rejects with `StoreOverloadedError` at the bound of reads in flight. */
  readonly loadBounded: (key: string, now: number, behalf: Behalf | undefined) => Promise<CacheEntry<V>>;
}

export interface OutagePolicyOptions<V> {
  readonly clock: Pick<Clock, "monotonic">;
  readonly contact: Contact;
  readonly loads: Pick<SharedLoads<V>, "start" | "joinableUnchanged">;
  readonly isValid: (entry: CacheEntry<V>) => boolean;
  /** The cache is read by loads of another one, which is bounded. */
  readonly isPart: boolean;
}

export const createOutagePolicy = <V>({ clock, contact, loads, isValid, isPart }: OutagePolicyOptions<V>): OutagePolicy<V> => {
  /** What each load found, undefined if it failed or took too long: calls that wait for the same load share one timer. */
  const soon = new WeakMap<InFlightLoad<V>, Promise<CacheEntry<V> | undefined>>();

  const isHeard = (now: number): boolean => now - contact.heardAt < SILENT_AFTER_MS;

  const mayAnswer = (entry: CacheEntry<V>, now: number): boolean =>
    entry.lasts && contact.heardAt < entry.readAt + MAX_AGE_MS && now < contact.heardAt + contact.staleFor && isValid(entry);

  const reportIfStale: OutagePolicy<V>["reportIfStale"] = (entry, asked, wasHeard, behalf) => {
    const isConfirmed = asked < entry.sureUntil && (wasHeard || (isHeard(asked) && isValid(entry)));
    if (asked - entry.readAt >= SILENT_AFTER_MS && !isConfirmed) behalf?.degrade?.("verification");
    return entry;
  };

  /** Joins or starts a load. Undefined: too many reads are in flight. */
  const loadWithinBound = (key: string, now: number, behalf: Behalf | undefined): InFlightLoad<V> | undefined => {
    const joined = loads.joinableUnchanged(key, now);
    if (joined !== undefined || isPart) return joined ?? loads.start(key, now, behalf);
    if (contact.reads >= MOST_SILENT_READS) return undefined;
    contact.reads++;
    const started = loads.start(key, now, behalf);
    const done = (): void => {
      contact.reads--;
    };
    started.result.then(done, done);
    return started;
  };

  const soonOf = (running: InFlightLoad<V>): Promise<CacheEntry<V> | undefined> => {
    const known = soon.get(running);
    if (known !== undefined) return known;
    const found = new Promise<CacheEntry<V> | undefined>((resolve) => {
      const timer = setTimeout(resolve, MOST_WAIT_MS, undefined);
      const settle = (entry?: CacheEntry<V>): void => {
        clearTimeout(timer);
        resolve(entry);
      };
      running.result.then(settle, () => settle());
    });
    soon.set(running, found);
    return found;
  };

  return {
    isHeard,
    mayAnswer,
    reportIfStale,
    readThrough: (entry, key, now, behalf) => {
      const running = loadWithinBound(key, now, behalf);
      if (running === undefined) return reportIfStale(entry, now, false, behalf);
      return soonOf(running).then((found) => {
        if (found === undefined && !mayAnswer(entry, clock.monotonic()))
          return running.result.then((late) => reportIfStale(late, now, false, behalf));
        return reportIfStale(found ?? entry, now, false, behalf);
      });
    },
    loadBounded: async (key, now, behalf) => {
      const running = loadWithinBound(key, now, behalf);
      if (running === undefined) throw new StoreOverloadedError("too much is asked of a store that is slow, or away");
      return reportIfStale(await running.result, now, false, behalf);
    },
  };
};
