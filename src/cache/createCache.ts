import type { Behalf } from "../domain/behalf.ts";
import type { Clock } from "../domain/clock.ts";
import { StoreOverloadedError } from "../storage/port/errors.ts";
import type { Cached, CacheEntry, InFlightLoad, LoadResult } from "./cacheEntry.ts";
import { type Contact, SILENT_AFTER_MS } from "./contact.ts";
import type { Invalidations } from "./invalidations.ts";
import { memorySize } from "./memorySize.ts";

/** Bound of the contract: nothing cached is older while the feed is heard (protocol §7, verify §12). */
const MAX_AGE_MS = 30_000;
/** In the last 10 s a use starts a reload beside it, so that a value in use never runs out while the store answers. */
const REFRESH_BEFORE_MS = 10_000;

/**
 * Older parts are read again before something is made of them: it is as old as its oldest part, and would soon be read again because of that.
 * Ten thousand keys in use, each with an identity of its own, are so read 500 times a second, and not 1,200.
 */
const MAX_PART_AGE_MS = 10_000;

/** A load is shared for so long: later calls have to see what was acknowledged after it began. */
const JOINABLE_FOR_MS = SILENT_AFTER_MS;
/** While the feed is silent: what the store is asked at once about what is remembered, and how long that is awaited. */
const MOST_SILENT_READS = 50;
const MOST_WAIT_MS = 500;

/** An entry itself and its place in the map. The ids that it depends on are mostly texts that are there anyway. */
const OWN_BYTES = 200;
const SLOT_BYTES = 8;

/** Second chances that one insertion gives at most: to go through a hundred thousand would hold everybody up for 0.2 s. */
const MOST_SECOND_CHANCES = 200;
/** What is too much then waits for the next insertions, up to this share. */
const OVERDRAFT = 0.01;

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
 * A read-through cache. A load that began before an invalidation of what it read is answered to those who asked
 * before it, and not kept; who asked after it waits for the next. What is held (`Invalidations.isHeld`) is kept for a second.
 */
export const createCache = <V>(options: CacheOptions<V>): Cache<V> => {
  const { clock, invalidations, contact, isPart = false, maxBytes, load, sizeOf = memorySize, onAccess } = options;
  const entries = new Map<string, CacheEntry<V>>();
  let bytes = 0;
  /** Single flight: the load of each key that later calls may join. */
  const inFlight = new Map<string, InFlightLoad<V>>();

  const isValid = (entry: CacheEntry<V>): boolean => {
    const sequence = invalidations.sequence();
    if (entry.checked === sequence) return true;
    if (invalidations.changedSince(entry.dependsOn, entry.checked)) return false;
    entry.checked = sequence;
    return true;
  };

  const drop = (key: string): void => {
    const entry = entries.get(key);
    if (entry === undefined) return;
    bytes -= entry.bytes;
    entries.delete(key);
  };

  /** CLOCK eviction: the oldest go, but those in use get a second chance, so a flood of new keys pushes out itself. */
  const evict = (): void => {
    let secondChances = 0;
    for (const [key, entry] of entries) {
      const canWait = secondChances === MOST_SECOND_CHANCES && bytes <= maxBytes * (1 + OVERDRAFT);
      if (bytes <= maxBytes || canWait) return;
      entries.delete(key);
      if (entry.referenced && secondChances < MOST_SECOND_CHANCES) {
        secondChances++;
        entry.referenced = false;
        entries.set(key, entry);
      } else bytes -= entry.bytes;
    }
  };

  const keep = (key: string, entry: CacheEntry<V>): void => {
    drop(key);
    if (entry.bytes > maxBytes) return;
    entries.set(key, entry);
    bytes += entry.bytes;
    if (bytes > maxBytes) evict();
  };

  const fetch = async (key: string, sequence: number, began: number, behalf: Behalf | undefined): Promise<CacheEntry<V>> => {
    // Without the signal of that call: others may wait for the same.
    const loaded = await load(key, { caller: behalf?.caller });
    const { maxAge = MAX_AGE_MS, sureUntil: partsAreSure = Number.POSITIVE_INFINITY } = loaded;
    const isHeld = invalidations.isHeld(loaded.dependsOn, began);
    const sureUntil = isHeld ? Math.min(partsAreSure, began + SILENT_AFTER_MS) : partsAreSure;
    const lasts = maxAge === MAX_AGE_MS;
    const entry: CacheEntry<V> = {
      value: loaded.value,
      dependsOn: loaded.dependsOn,
      readAt: loaded.sentAt,
      sureUntil,
      expiresAt: Math.min(loaded.sentAt + maxAge, sureUntil),
      lasts,
      refreshes: lasts && sureUntil === Number.POSITIVE_INFINITY,
      checked: sequence,
      referenced: false,
      bytes: OWN_BYTES + memorySize(key) + SLOT_BYTES * loaded.dependsOn.length + sizeOf(loaded.value),
    };
    if (isValid(entry) && clock.monotonic() < loaded.sentAt + maxAge) keep(key, entry);
    return entry;
  };

  /** The load that whoever asks now may share, if that turns out to have seen what changed before. */
  const joinable = (key: string, now: number): InFlightLoad<V> | undefined => {
    const running = inFlight.get(key);
    return running !== undefined && now - running.began < JOINABLE_FOR_MS ? running : undefined;
  };

  /** The same, where nothing at all changed since it began. */
  const joinableUnchanged = (key: string, now: number): InFlightLoad<V> | undefined => {
    const running = joinable(key, now);
    return running?.sequence === invalidations.sequence() ? running : undefined;
  };

  const start = (key: string, now: number, behalf: Behalf | undefined): InFlightLoad<V> => {
    const sequence = invalidations.sequence();
    const result = fetch(key, sequence, now, behalf).finally(() => {
      if (inFlight.get(key) === running) inFlight.delete(key);
    });
    const running: InFlightLoad<V> = { sequence, began: now, result, soon: undefined };
    inFlight.set(key, running);
    return running;
  };

  /** Reads for the feed that is silent: there are so many at a time and no more, so that a slow store is not buried. */
  const startBounded = (key: string, now: number, behalf: Behalf | undefined): InFlightLoad<V> | undefined => {
    if (isPart) return start(key, now, behalf);
    if (contact.reads >= MOST_SILENT_READS) return undefined;
    contact.reads++;
    const running = start(key, now, behalf);
    const done = (): void => {
      contact.reads--;
    };
    running.result.then(done, done);
    return running;
  };

  const soonOf = (running: InFlightLoad<V>): Promise<CacheEntry<V> | undefined> => {
    running.soon ??= new Promise((resolve) => {
      const timer = setTimeout(resolve, MOST_WAIT_MS, undefined);
      const found = (entry?: CacheEntry<V>): void => {
        clearTimeout(timer);
        resolve(entry);
      };
      running.result.then(found, () => found());
    });
    return running.soon;
  };

  const isHeard = (now: number): boolean => now - contact.heardAt < SILENT_AFTER_MS;

  /** Whoever asked at this time must not rely on an entry that was neither read nor confirmed in the second before. */
  const reportIfStale = (entry: CacheEntry<V>, asked: number, wasHeard: boolean, behalf: Behalf | undefined): CacheEntry<V> => {
    const isConfirmed = asked < entry.sureUntil && (wasHeard || (isHeard(asked) && isValid(entry)));
    if (asked - entry.readAt >= SILENT_AFTER_MS && !isConfirmed) behalf?.degrade?.("verification");
    return entry;
  };

  /** An entry that was good when the feed was heard last may answer in the store's place for a time. */
  const mayAnswer = (entry: CacheEntry<V>, now: number): boolean =>
    entry.lasts && contact.heardAt < entry.readAt + MAX_AGE_MS && now < contact.heardAt + contact.staleFor && isValid(entry);

  /** Of a load that began before this call; when something changed in between, of one that did not. */
  const share = (running: InFlightLoad<V>, key: string, now: number, behalf: Behalf | undefined): Promise<CacheEntry<V>> => {
    const sequence = invalidations.sequence();
    return running.result.then((entry) => {
      const isNews = running.sequence !== sequence && invalidations.changedSince(entry.dependsOn, running.sequence);
      if (!isNews && now < entry.sureUntil) return entry;
      const next = inFlight.get(key);
      const isLater = next !== undefined && next.began >= now && next.sequence >= sequence;
      return (isLater ? next : start(key, clock.monotonic(), behalf)).result;
    });
  };

  const loadNow = (key: string, now: number, behalf: Behalf | undefined): Promise<CacheEntry<V>> => {
    const wasHeard = isHeard(now);
    const running = joinable(key, now);
    const result = running === undefined ? start(key, now, behalf).result : share(running, key, now, behalf);
    return result.then((entry) => reportIfStale(entry, now, wasHeard, behalf));
  };

  /** What the store answers, or, where it fails, what is remembered. */
  const loadOr = (entry: CacheEntry<V>, key: string, now: number, behalf: Behalf | undefined): Promise<CacheEntry<V>> =>
    loadNow(key, now, behalf).catch((error: unknown) => {
      if (!mayAnswer(entry, clock.monotonic())) throw error;
      return reportIfStale(entry, now, true, behalf);
    });

  /** The same while the feed is silent: the store is not asked too much, and not waited for too long. */
  const readThrough = (
    entry: CacheEntry<V>,
    key: string,
    now: number,
    behalf: Behalf | undefined,
  ): CacheEntry<V> | Promise<CacheEntry<V>> => {
    const running = joinableUnchanged(key, now) ?? startBounded(key, now, behalf);
    if (running === undefined) return reportIfStale(entry, now, false, behalf);
    return soonOf(running).then((found) => {
      if (found === undefined && !mayAnswer(entry, clock.monotonic()))
        return running.result.then((late) => reportIfStale(late, now, false, behalf));
      return reportIfStale(found ?? entry, now, false, behalf);
    });
  };

  /** While the feed is silent, of what is remembered and may not answer: where there is no room to ask, nothing does. */
  const loadBounded = (key: string, now: number, behalf: Behalf | undefined): Promise<CacheEntry<V>> => {
    const running = joinableUnchanged(key, now) ?? startBounded(key, now, behalf);
    if (running === undefined) return Promise.reject(new StoreOverloadedError("too much is asked of a store that is slow, or away"));
    return running.result.then((entry) => reportIfStale(entry, now, false, behalf));
  };

  /** What the store answers now of a part that is old; where it fails, what is remembered, for as long as that is good. */
  const renewPart = (entry: CacheEntry<V>, key: string, now: number, behalf: Behalf | undefined): Promise<CacheEntry<V>> =>
    loadNow(key, now, behalf).catch((error: unknown) => {
      if (clock.monotonic() >= entry.expiresAt || !isValid(entry)) throw error;
      return reportIfStale(entry, now, true, behalf);
    });

  const get = (key: string, behalf?: Behalf): CacheEntry<V> | Promise<CacheEntry<V>> => {
    const entry = entries.get(key);
    const now = clock.monotonic();
    if (entry !== undefined) {
      const isKnown = isHeard(now) || now - entry.readAt < SILENT_AFTER_MS;
      if (isKnown && now < entry.expiresAt && isValid(entry)) {
        onAccess?.(true);
        entry.referenced = true;
        if (isPart && entry.refreshes && now >= entry.readAt + MAX_PART_AGE_MS) return renewPart(entry, key, now, behalf);
        // A failed refresh is no one's concern: the entry serves until it expires, then the caller hears of it.
        if (entry.refreshes && now >= entry.expiresAt - REFRESH_BEFORE_MS && !inFlight.has(key)) {
          start(key, now, behalf).result.catch(() => undefined);
        }
        return entry;
      }
      onAccess?.(false);
      if (mayAnswer(entry, now)) {
        entry.referenced = true;
        return isHeard(now) ? loadOr(entry, key, now, behalf) : readThrough(entry, key, now, behalf);
      }
      if (!isHeard(now) && entry.lasts && isValid(entry)) return loadBounded(key, now, behalf);
      if (now >= entry.expiresAt || !isValid(entry)) drop(key);
    } else onAccess?.(false);
    return loadNow(key, now, behalf);
  };

  const has = (key: string): boolean => {
    const entry = entries.get(key);
    return entry !== undefined && (entry.lasts || clock.monotonic() < entry.expiresAt);
  };

  const isLoading = (key: string): boolean => joinable(key, clock.monotonic()) !== undefined;

  return { get, has, isLoading, size: () => entries.size, bytes: () => bytes };
};
