import type { Clock } from "../domain/clock.ts";
import type { Invalidations } from "./invalidations.ts";

/** Bound of the contract: nothing cached is older (protocol §7, verify §12). */
export const MAX_AGE_MS = 30_000;
/** From this age on, a use starts a reload beside it, so that a value in use never runs out while the store answers. */
const REFRESH_AFTER_MS = 20_000;

export interface Loaded<V> {
  readonly value: V;
  /** Ids whose change makes the value void. */
  readonly dependsOn: readonly string[];
  /** Monotonic time at which the oldest read behind the value was sent. */
  readonly sentAt: number;
  /** Shorter than `MAX_AGE_MS` for answers such as "unknown". */
  readonly maxAge?: number;
}

interface Entry<V> {
  readonly value: V;
  readonly dependsOn: readonly string[];
  readonly expiresAt: number;
  readonly refreshAt: number;
  /** Valid with regard to every change up to this sequence. */
  checked: number;
}

export interface Cache<V> {
  /** The cached value and how old its oldest read is, or what the store answers now. */
  readonly get: (key: string) => Cached<V> | Promise<Cached<V>>;
  /** True when a value is cached, be it still good or not. */
  readonly has: (key: string) => boolean;
  readonly size: () => number;
}

/** A value with what a larger value built from it has to inherit. */
export interface Cached<V> {
  readonly value: V;
  readonly dependsOn: readonly string[];
  readonly expiresAt: number;
}

export interface CacheOptions<V> {
  readonly clock: Clock;
  readonly invalidations: Invalidations;
  /** Oldest entries go first beyond this count. */
  readonly capacity: number;
  readonly load: (key: string) => Promise<Loaded<V>>;
  readonly onAccess?: (hit: boolean) => void;
}

/**
 * A read-through cache. A load that began before an invalidation of what it read is answered to those who asked
 * before it, and not kept. Concurrent loads of one key are shared as long as nothing changed since they began.
 */
export const createCache = <V>({ clock, invalidations, capacity, load, onAccess }: CacheOptions<V>): Cache<V> => {
  const entries = new Map<string, Entry<V>>();
  const loading = new Map<string, { readonly sequence: number; readonly result: Promise<Entry<V>> }>();

  const isValid = (entry: Entry<V>): boolean => {
    const sequence = invalidations.sequence();
    if (entry.checked === sequence) return true;
    if (invalidations.changedSince(entry.dependsOn, entry.checked)) return false;
    entry.checked = sequence;
    return true;
  };

  const keep = (key: string, entry: Entry<V>): void => {
    entries.delete(key);
    entries.set(key, entry);
    if (entries.size <= capacity) return;
    for (const oldest of entries.keys()) {
      entries.delete(oldest);
      if (entries.size <= capacity) break;
    }
  };

  const fetch = async (key: string, sequence: number): Promise<Entry<V>> => {
    const loaded = await load(key);
    const maxAge = loaded.maxAge ?? MAX_AGE_MS;
    const entry: Entry<V> = {
      value: loaded.value,
      dependsOn: loaded.dependsOn,
      expiresAt: loaded.sentAt + maxAge,
      refreshAt: maxAge < MAX_AGE_MS ? Number.POSITIVE_INFINITY : loaded.sentAt + REFRESH_AFTER_MS,
      checked: sequence,
    };
    if (isValid(entry) && clock.monotonic() < entry.expiresAt) keep(key, entry);
    return entry;
  };

  const start = (key: string): Promise<Entry<V>> => {
    const sequence = invalidations.sequence();
    const running = loading.get(key);
    if (running?.sequence === sequence) return running.result;
    const result = fetch(key, sequence).finally(() => {
      if (loading.get(key)?.result === result) loading.delete(key);
    });
    loading.set(key, { sequence, result });
    return result;
  };

  const get = (key: string): Entry<V> | Promise<Entry<V>> => {
    const entry = entries.get(key);
    if (entry !== undefined) {
      const now = clock.monotonic();
      if (now < entry.expiresAt && isValid(entry)) {
        onAccess?.(true);
        // A failed refresh is no one's concern: the entry serves until it expires, then the caller hears of it.
        if (now >= entry.refreshAt && !loading.has(key)) start(key).catch(() => undefined);
        return entry;
      }
      entries.delete(key);
    }
    onAccess?.(false);
    return start(key);
  };

  return { get, has: (key) => entries.has(key), size: () => entries.size };
};
