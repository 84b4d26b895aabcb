import type { Behalf } from "../domain/behalf.ts";
import type { Clock } from "../domain/clock.ts";
import type { Invalidations } from "./invalidations.ts";
import { memorySize } from "./memorySize.ts";

/** Bound of the contract: nothing cached is older (protocol §7, verify §12). */
export const MAX_AGE_MS = 30_000;
/** In the last 10 s a use starts a reload beside it, so that a value in use never runs out while the store answers. */
const REFRESH_BEFORE_MS = 10_000;

/** An entry itself and its place in the map. The ids that it depends on are mostly texts that are there anyway. */
const OWN_BYTES = 200;
const SLOT_BYTES = 8;

/** Entries that one insertion spares at most: to go through a hundred thousand would hold everybody up for 0.2 s. */
const SPARED_AT_ONCE = 200;
/** What is too much then waits for the next insertions, up to this share. */
const OVERDRAFT = 0.01;

export interface Loaded<V> {
  readonly value: V;
  /** What makes the value void when it changes: ids of documents, and the hash of the secret that was looked up. */
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
  /** Loaded again in the background when it is used and old. */
  readonly refreshes: boolean;
  /** Valid with regard to every change up to this sequence. */
  checked: number;
  /** Asked for since it was last spared. */
  used: boolean;
  /** Bytes that it takes, with its key. */
  readonly bytes: number;
}

export interface Cache<V> {
  /** The cached value and how old its oldest read is, or what the store answers now. */
  readonly get: (key: string, behalf?: Behalf) => Cached<V> | Promise<Cached<V>>;
  /** True when a value is cached, be it still good or not; of one with a shorter life than others only while it is. */
  readonly has: (key: string) => boolean;
  /** True while a load is under way that `get` would join. */
  readonly isLoading: (key: string) => boolean;
  readonly size: () => number;
  /** Bytes of all entries together, by the estimate that bounds them. */
  readonly bytes: () => number;
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
  /** Bytes of all entries together, by an estimate; beyond them, or a hundredth more, those go first that nobody asked for again. */
  readonly maxBytes: number;
  /** For whoever asked first. */
  readonly load: (key: string, behalf: Behalf) => Promise<Loaded<V>>;
  /** Bytes of a value; what all of them share may be left out. By default all that hangs on it. */
  readonly sizeOf?: (value: V) => number;
  readonly onAccess?: (hit: boolean) => void;
}

/**
 * A read-through cache. A load that began before an invalidation of what it read is answered to those who asked
 * before it, and not kept. Concurrent loads of one key are shared as long as nothing changed since they began.
 */
export const createCache = <V>({ clock, invalidations, maxBytes, load, sizeOf = memorySize, onAccess }: CacheOptions<V>): Cache<V> => {
  const entries = new Map<string, Entry<V>>();
  let bytes = 0;
  const loading = new Map<string, { readonly sequence: number; readonly result: Promise<Entry<V>> }>();

  const isValid = (entry: Entry<V>): boolean => {
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

  /** Second chance: the oldest go, but those in use stay for another round, so a flood of new keys pushes out itself. */
  const makeRoom = (): void => {
    let spared = 0;
    for (const [key, entry] of entries) {
      const canWait = spared === SPARED_AT_ONCE && bytes <= maxBytes * (1 + OVERDRAFT);
      if (bytes <= maxBytes || canWait) return;
      entries.delete(key);
      if (entry.used && spared < SPARED_AT_ONCE) {
        spared++;
        entry.used = false;
        entries.set(key, entry);
      } else bytes -= entry.bytes;
    }
  };

  const keep = (key: string, entry: Entry<V>): void => {
    drop(key);
    if (entry.bytes > maxBytes) return;
    entries.set(key, entry);
    bytes += entry.bytes;
    if (bytes > maxBytes) makeRoom();
  };

  const fetch = async (key: string, sequence: number, behalf: Behalf | undefined): Promise<Entry<V>> => {
    // Without the signal of that call: others may wait for the same.
    const loaded = await load(key, { caller: behalf?.caller });
    const maxAge = loaded.maxAge ?? MAX_AGE_MS;
    const entry: Entry<V> = {
      value: loaded.value,
      dependsOn: loaded.dependsOn,
      expiresAt: loaded.sentAt + maxAge,
      refreshes: maxAge === MAX_AGE_MS,
      checked: sequence,
      used: false,
      bytes: OWN_BYTES + memorySize(key) + SLOT_BYTES * loaded.dependsOn.length + sizeOf(loaded.value),
    };
    if (isValid(entry) && clock.monotonic() < entry.expiresAt) keep(key, entry);
    return entry;
  };

  const start = (key: string, behalf: Behalf | undefined): Promise<Entry<V>> => {
    const sequence = invalidations.sequence();
    const running = loading.get(key);
    if (running?.sequence === sequence) return running.result;
    const result = fetch(key, sequence, behalf).finally(() => {
      if (loading.get(key)?.result === result) loading.delete(key);
    });
    loading.set(key, { sequence, result });
    return result;
  };

  const get = (key: string, behalf?: Behalf): Entry<V> | Promise<Entry<V>> => {
    const entry = entries.get(key);
    if (entry !== undefined) {
      const now = clock.monotonic();
      if (now < entry.expiresAt && isValid(entry)) {
        onAccess?.(true);
        entry.used = true;
        // A failed refresh is no one's concern: the entry serves until it expires, then the caller hears of it.
        if (entry.refreshes && now >= entry.expiresAt - REFRESH_BEFORE_MS && !loading.has(key)) start(key, behalf).catch(() => undefined);
        return entry;
      }
      drop(key);
    }
    onAccess?.(false);
    return start(key, behalf);
  };

  const has = (key: string): boolean => {
    const entry = entries.get(key);
    return entry !== undefined && (entry.refreshes || clock.monotonic() < entry.expiresAt);
  };

  const isLoading = (key: string): boolean => loading.get(key)?.sequence === invalidations.sequence();

  return { get, has, isLoading, size: () => entries.size, bytes: () => bytes };
};
