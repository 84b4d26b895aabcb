import type { Behalf } from "../domain/behalf.ts";
import type { Clock } from "../domain/clock.ts";
import { type Contact, SILENT_AFTER_MS } from "./contact.ts";
import type { Invalidations } from "./invalidations.ts";
import { memorySize } from "./memorySize.ts";

/** Bound of the contract: nothing cached is older while the feed is heard (protocol §7, verify §12). */
const MAX_AGE_MS = 30_000;
/** In the last 10 s a use starts a reload beside it, so that a value in use never runs out while the store answers. */
const REFRESH_BEFORE_MS = 10_000;

/** A load is shared for so long: later calls have to see what was acknowledged after it began. */
const SHARED_FOR_MS = SILENT_AFTER_MS;
/** While the feed is silent: what the store is asked at once about what is remembered, and how long that is awaited. */
const MOST_READS = 50;
const PATIENCE_MS = 500;

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
  readonly readAt: number;
  readonly expiresAt: number;
  /** Loaded again in the background when it is used and old, and good for longer when the store is away. */
  readonly refreshes: boolean;
  /** Valid with regard to every change up to this sequence. */
  checked: number;
  /** Asked for since it was last spared. */
  used: boolean;
  /** Bytes that it takes, with its key. */
  readonly bytes: number;
}

/** A load that is under way. */
interface Running<V> {
  readonly sequence: number;
  readonly began: number;
  readonly result: Promise<Entry<V>>;
  /** What it found, undefined when that failed or takes too long; made when somebody asks. */
  soon: Promise<Entry<V> | undefined> | undefined;
}

export interface Cache<V> {
  /**
   * The cached value and how old its oldest read is, or what the store answers now. While the feed is silent the store is
   * asked about what is cached, too; where it does not answer, what is cached has to do, and `behalf.degrade` is called.
   */
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
  /** Monotonic time at which the oldest read behind it was sent. */
  readonly readAt: number;
}

export interface CacheOptions<V> {
  readonly clock: Clock;
  readonly invalidations: Invalidations;
  readonly contact: Contact;
  /** What is loaded is a part of what another cache loads, which is bounded. */
  readonly isPart?: boolean;
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
export const createCache = <V>(options: CacheOptions<V>): Cache<V> => {
  const { clock, invalidations, contact, isPart = false, maxBytes, load, sizeOf = memorySize, onAccess } = options;
  const entries = new Map<string, Entry<V>>();
  let bytes = 0;
  const loading = new Map<string, Running<V>>();

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

  const fetch = async (key: string, sequence: number, began: number, behalf: Behalf | undefined): Promise<Entry<V>> => {
    // Without the signal of that call: others may wait for the same.
    const loaded = await load(key, { caller: behalf?.caller });
    const maxAge = loaded.maxAge ?? MAX_AGE_MS;
    const entry: Entry<V> = {
      value: loaded.value,
      dependsOn: loaded.dependsOn,
      readAt: loaded.sentAt,
      expiresAt: loaded.sentAt + maxAge,
      refreshes: maxAge === MAX_AGE_MS,
      checked: sequence,
      used: false,
      bytes: OWN_BYTES + memorySize(key) + SLOT_BYTES * loaded.dependsOn.length + sizeOf(loaded.value),
    };
    const isGood = isValid(entry) && !invalidations.isHeld(entry.dependsOn, began);
    if (isGood && clock.monotonic() < entry.expiresAt) keep(key, entry);
    return entry;
  };

  /** The load that whoever asks now may share. */
  const joinable = (key: string, now: number): Running<V> | undefined => {
    const running = loading.get(key);
    return running?.sequence === invalidations.sequence() && now - running.began < SHARED_FOR_MS ? running : undefined;
  };

  const start = (key: string, now: number, behalf: Behalf | undefined): Running<V> => {
    const sequence = invalidations.sequence();
    const result = fetch(key, sequence, now, behalf).finally(() => {
      if (loading.get(key) === running) loading.delete(key);
    });
    const running: Running<V> = { sequence, began: now, result, soon: undefined };
    loading.set(key, running);
    return running;
  };

  /** Reads for the feed that is silent: there are so many at a time and no more, so that a slow store is not buried. */
  const startBounded = (key: string, now: number, behalf: Behalf | undefined): Running<V> | undefined => {
    if (isPart) return start(key, now, behalf);
    if (contact.reads >= MOST_READS) return undefined;
    contact.reads++;
    const running = start(key, now, behalf);
    const done = (): void => {
      contact.reads--;
    };
    running.result.then(done, done);
    return running;
  };

  const soonOf = (running: Running<V>): Promise<Entry<V> | undefined> => {
    running.soon ??= new Promise((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS, undefined);
      const found = (entry?: Entry<V>): void => {
        clearTimeout(timer);
        resolve(entry);
      };
      running.result.then(found, () => found());
    });
    return running.soon;
  };

  /** Whoever asked at this time must not rely on an entry that was neither read nor confirmed in the second before. */
  const tell = (entry: Entry<V>, asked: number, behalf: Behalf | undefined): Entry<V> => {
    const isConfirmed = asked - contact.heardAt < SILENT_AFTER_MS && isValid(entry);
    if (asked - entry.readAt >= SILENT_AFTER_MS && !isConfirmed) behalf?.degrade?.("verification");
    return entry;
  };

  /** An entry that was good when the feed was heard last may answer in the store's place for a time. */
  const mayAnswer = (entry: Entry<V>, now: number): boolean =>
    entry.refreshes && contact.heardAt < entry.expiresAt && now < contact.heardAt + contact.staleFor && isValid(entry);

  const loadNow = (key: string, now: number, behalf: Behalf | undefined): Promise<Entry<V>> => {
    const { result } = joinable(key, now) ?? start(key, now, behalf);
    return now - contact.heardAt < SILENT_AFTER_MS ? result : result.then((entry) => tell(entry, now, behalf));
  };

  /** What the store answers, or else what is remembered. */
  const readThrough = (key: string, entry: Entry<V>, now: number, behalf: Behalf | undefined): Entry<V> | Promise<Entry<V>> => {
    const running = joinable(key, now) ?? startBounded(key, now, behalf);
    if (running === undefined) return tell(entry, now, behalf);
    return soonOf(running).then((found) => {
      if (found === undefined && !mayAnswer(entry, clock.monotonic())) return running.result.then((late) => tell(late, now, behalf));
      return tell(found ?? entry, now, behalf);
    });
  };

  const get = (key: string, behalf?: Behalf): Entry<V> | Promise<Entry<V>> => {
    const entry = entries.get(key);
    const now = clock.monotonic();
    if (entry !== undefined) {
      const isKnown = now - contact.heardAt < SILENT_AFTER_MS || now - entry.readAt < SILENT_AFTER_MS;
      if (isKnown && now < entry.expiresAt && isValid(entry)) {
        onAccess?.(true);
        entry.used = true;
        // A failed refresh is no one's concern: the entry serves until it expires, then the caller hears of it.
        if (entry.refreshes && now >= entry.expiresAt - REFRESH_BEFORE_MS && !loading.has(key)) {
          start(key, now, behalf).result.catch(() => undefined);
        }
        return entry;
      }
      onAccess?.(false);
      if (mayAnswer(entry, now)) {
        entry.used = true;
        return readThrough(key, entry, now, behalf);
      }
      if (now >= entry.expiresAt || !isValid(entry)) drop(key);
    } else onAccess?.(false);
    return loadNow(key, now, behalf);
  };

  const has = (key: string): boolean => {
    const entry = entries.get(key);
    return entry !== undefined && (entry.refreshes || clock.monotonic() < entry.expiresAt);
  };

  const isLoading = (key: string): boolean => joinable(key, clock.monotonic()) !== undefined;

  return { get, has, isLoading, size: () => entries.size, bytes: () => bytes };
};
