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

/** A load that is under way, which calls for the same key share (single flight). */
export interface InFlightLoad<V> {
  readonly sequence: number;
  readonly began: number;
  readonly result: Promise<CacheEntry<V>>;
  /** What it found, undefined when that failed or takes too long; made when somebody asks. */
  soon: Promise<CacheEntry<V> | undefined> | undefined;
}
