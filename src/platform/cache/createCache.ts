import type { Behalf } from "../base/behalf.ts";
import type { Clock } from "../base/clock.ts";
import { type Cached, type CacheEntry, createEntry, type LoadResult, MAX_AGE_MS } from "./cacheEntry.ts";
import { type Contact, SILENT_AFTER_MS } from "./contact.ts";
import { createEntryStore } from "./entryStore.ts";
import type { Invalidations } from "./invalidations.ts";
import { memorySize } from "./memorySize.ts";
import { createOutagePolicy } from "./outagePolicy.ts";
import { createSharedLoads } from "./sharedLoads.ts";

/** In its last 10 s a use of an entry reloads it in the background, so that a value in use never expires while the store answers. */
const REFRESH_BEFORE_MS = 10_000;

/**
 * A part older than this is read again before something is made of it, because the whole is as old as its oldest part. Ten thousand keys in
 * use, each with an identity of its own, are then read 500 times a second instead of 1,200.
 */
const MAX_PART_AGE_MS = 10_000;

/** How much is cached. */
export interface CacheSize {
  /** Entries. */
  readonly size: () => number;
  /** Bytes of all entries together, by the estimate that bounds them. */
  readonly bytes: () => number;
}

export interface Cache<V> extends CacheSize {
  /**
   * The cached value and how old its oldest read is, or what the store answers now. While the feed is silent the store is
   * asked about what is cached, too; where it does not answer, what is cached has to do, and `behalf.degrade` is called.
   */
  readonly get: (key: string, behalf?: Behalf) => Cached<V> | Promise<Cached<V>>;
  /** True when a value is cached, be it still good or not; of one with a shorter life than others only while it is. */
  readonly has: (key: string) => boolean;
  /** True while a load is under way that `get` would join. */
  readonly isLoading: (key: string) => boolean;
}

/** The caches as one. */
export const sizeOfAll = (caches: readonly CacheSize[]): CacheSize => ({
  size: () => caches.reduce((sum, { size }) => sum + size(), 0),
  bytes: () => caches.reduce((sum, { bytes }) => sum + bytes(), 0),
});

export interface CacheOptions<V> {
  readonly clock: Clock;
  readonly invalidations: Invalidations;
  readonly contact: Contact;
  /** What is loaded is a part of what another cache loads, which is bounded. */
  readonly isPart?: boolean;
  /** Bytes of all entries together, by an estimate; beyond them, or a hundredth more, those go first that nobody asked for again. */
  readonly maxBytes: number;
  /** For whoever asked first. */
  readonly load: (key: string, behalf: Behalf) => Promise<LoadResult<V>>;
  /** Bytes of a value; what all of them share may be left out. By default all that hangs on it. */
  readonly sizeOf?: (value: V) => number;
  readonly onAccess?: (hit: boolean) => void;
}

/**
 * A read-through cache. A load that began before an invalidation of what it read answers only the calls that came before the
 * invalidation, and is not kept; later calls wait for the next load. What is held (`Invalidations.isHeld`) is kept for a second.
 */
export const createCache = <V>(options: CacheOptions<V>): Cache<V> => {
  const { clock, invalidations, contact, isPart = false, maxBytes, load, sizeOf = memorySize, onAccess } = options;
  const entries = createEntryStore<V>(maxBytes);

  const isValid = (entry: CacheEntry<V>): boolean => {
    const sequence = invalidations.sequence();
    if (entry.checked === sequence) return true;
    if (invalidations.changedSince(entry.dependsOn, entry.checked)) return false;
    entry.checked = sequence;
    return true;
  };

  const read = async (key: string, sequence: number, began: number, behalf: Behalf | undefined): Promise<CacheEntry<V>> => {
    // Without the signal of that call: others may wait for the same.
    const found = await load(key, { caller: behalf?.caller });
    const isHeld = invalidations.isHeld(found.dependsOn, began);
    const entry = createEntry(key, found, { sequence, began, isHeld, valueBytes: sizeOf(found.value) });
    if (isValid(entry) && clock.monotonic() < found.sentAt + (found.maxAge ?? MAX_AGE_MS)) entries.keep(key, entry);
    return entry;
  };

  const loads = createSharedLoads({ clock, invalidations, read });
  const { isHeard, mayAnswer, reportIfStale, readThrough, loadBounded } = createOutagePolicy({ clock, contact, loads, isValid, isPart });

  const loadNow = (key: string, now: number, behalf: Behalf | undefined): Promise<CacheEntry<V>> => {
    const wasHeard = isHeard(now);
    return loads.load(key, now, behalf).then((entry) => reportIfStale(entry, now, wasHeard, behalf));
  };

  /** What the store answers or, if it fails, the entry, as long as that is good enough. */
  const loadOr = (
    entry: CacheEntry<V>,
    isGood: (entry: CacheEntry<V>, now: number) => boolean,
    key: string,
    now: number,
    behalf: Behalf | undefined,
  ): Promise<CacheEntry<V>> =>
    loadNow(key, now, behalf).catch((error: unknown) => {
      if (!isGood(entry, clock.monotonic())) throw error;
      return reportIfStale(entry, now, true, behalf);
    });

  const isFresh = (entry: CacheEntry<V>, now: number): boolean => now < entry.expiresAt && isValid(entry);

  const get = (key: string, behalf?: Behalf): CacheEntry<V> | Promise<CacheEntry<V>> => {
    const entry = entries.get(key);
    const now = clock.monotonic();
    if (entry === undefined) {
      onAccess?.(false);
      return loadNow(key, now, behalf);
    }
    const isKnown = isHeard(now) || now - entry.readAt < SILENT_AFTER_MS;
    if (isKnown && isFresh(entry, now)) {
      onAccess?.(true);
      entry.referenced = true;
      if (isPart && entry.refreshes && now >= entry.readAt + MAX_PART_AGE_MS) return loadOr(entry, isFresh, key, now, behalf);
      // A failed refresh is ignored: the entry serves until it expires, then the caller gets the error.
      if (entry.refreshes && now >= entry.expiresAt - REFRESH_BEFORE_MS && !loads.isRunning(key)) {
        loads.start(key, now, behalf).result.catch(() => undefined);
      }
      return entry;
    }
    onAccess?.(false);
    if (mayAnswer(entry, now)) {
      entry.referenced = true;
      return isHeard(now) ? loadOr(entry, mayAnswer, key, now, behalf) : readThrough(entry, key, now, behalf);
    }
    if (!isHeard(now) && entry.lasts && isValid(entry)) return loadBounded(key, now, behalf);
    if (!isFresh(entry, now)) entries.drop(key);
    return loadNow(key, now, behalf);
  };

  const has = (key: string): boolean => {
    const entry = entries.get(key);
    return entry !== undefined && (entry.lasts || clock.monotonic() < entry.expiresAt);
  };

  return { get, has, isLoading: (key) => loads.joinable(key, clock.monotonic()) !== undefined, size: entries.size, bytes: entries.bytes };
};
