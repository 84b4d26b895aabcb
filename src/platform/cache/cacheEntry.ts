import { SILENT_AFTER_MS } from "./contact.ts";
import { memorySize } from "./memorySize.ts";

/** Bound of the contract: nothing cached is older while the feed is heard (protocol §7, verify §12). */
export const MAX_AGE_MS = 30_000;

/** An entry itself and its place in the map. The ids that it depends on are mostly texts that are there anyway. */
const OWN_BYTES = 200;
const SLOT_BYTES = 8;

/** What a load found. */
export interface LoadResult<V> {
  readonly value: V;
  /** What makes the value void when it changes: ids of documents, and the hash of the secret that was looked up. */
  readonly dependsOn: readonly string[];
  /** Monotonic time at which the oldest read behind the value was sent. */
  readonly sentAt: number;
  /** Shorter than `MAX_AGE_MS` for answers such as "unknown". */
  readonly maxAge?: number;
  /** Of what the value was built from: the earliest `Cached.sureUntil`. */
  readonly sureUntil?: number;
}

/** A value with what a larger value built from it has to inherit. */
export interface Cached<V> {
  readonly value: V;
  readonly dependsOn: readonly string[];
  /** Monotonic time at which the oldest read behind it was sent. */
  readonly readAt: number;
  /** Calls that begin from this monotonic time on must not rely on it, though the feed be heard: part of it may be from before a change. */
  readonly sureUntil: number;
}

/** What a cache keeps. */
export interface CacheEntry<V> extends Cached<V> {
  readonly expiresAt: number;
  /** Good for longer when the store is away; not so what is believed for a shorter time than others. */
  readonly lasts: boolean;
  /** Loaded again in the background when it is used and old. */
  readonly refreshes: boolean;
  /** Valid with regard to every change up to this sequence. */
  checked: number;
  /** The reference bit of the CLOCK: asked for since the hand last passed it. */
  referenced: boolean;
  /** Bytes that it takes, with its key. */
  readonly bytes: number;
}

/** Facts about a load when its result becomes an entry. */
interface Loaded {
  /** Of `Invalidations`, and monotonic time, when it began. */
  readonly sequence: number;
  readonly began: number;
  /** `Invalidations.isHeld` of what it read. */
  readonly isHeld: boolean;
  /** Bytes of the value. */
  readonly valueBytes: number;
}

/** The entry for what a load found. One that is held is good for a second after the load began. */
export const createEntry = <V>(key: string, found: LoadResult<V>, { sequence, began, isHeld, valueBytes }: Loaded): CacheEntry<V> => {
  const { value, dependsOn, sentAt, maxAge = MAX_AGE_MS, sureUntil: partsAreSure = Number.POSITIVE_INFINITY } = found;
  const sureUntil = isHeld ? Math.min(partsAreSure, began + SILENT_AFTER_MS) : partsAreSure;
  const lasts = maxAge === MAX_AGE_MS;
  return {
    value,
    dependsOn,
    readAt: sentAt,
    sureUntil,
    expiresAt: Math.min(sentAt + maxAge, sureUntil),
    lasts,
    refreshes: lasts && sureUntil === Number.POSITIVE_INFINITY,
    checked: sequence,
    referenced: false,
    bytes: OWN_BYTES + memorySize(key) + SLOT_BYTES * dependsOn.length + valueBytes,
  };
};
