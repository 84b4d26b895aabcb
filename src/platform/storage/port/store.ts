import type { Clock } from "../../base/clock.ts";
import type { Collection } from "./collection.ts";
import type { Counters } from "./counters.ts";
import type { CollectionName, Documents } from "./documents.ts";
import type { PendingChange } from "./pendingChange.ts";

/** What a store takes of its machine, and what is left of that. */
export interface StoreUsage {
  /** Bytes of its files, by what they are. */
  readonly files?: Readonly<Record<string, number>>;
  /** Of the file system that they are on, in bytes. */
  readonly disk?: { readonly free: number; readonly size: number };
  /** To its server. */
  readonly connections?: { readonly open: number; readonly inUse: number; readonly most: number };
}

/** A storage engine: `mongo` or `embedded`. */
export interface Store {
  /** For logs and metrics. */
  readonly engine: "mongo" | "embedded";
  /** The time that all nodes on this store have in common (DESIGN §9). Known once the store is prepared. */
  readonly clock: Clock;
  /** Operations that it takes at the same time; as many as come when left out. */
  readonly places?: number;
  /** It is a part of this process: it reports by itself what it cannot do, may be slow but not out of reach, and no other node shares it. */
  readonly isInProcess?: boolean;
  /** Resolves with the next thing that it has finished on its disk: that one may be slow, but does not hang. Of those in this process. */
  progress?(): Promise<void>;
  collection<N extends CollectionName>(name: N): Collection<Documents[N]>;
  /** Those of the collections that have a document with this field, in one question. Each must have an index of such documents. */
  collectionsWith<N extends CollectionName>(field: keyof Documents[N] & string, among: readonly N[]): Promise<readonly N[]>;
  /** Those of rate limits. An engine may keep them in a way of its own; the collection of that name is then not in use. */
  readonly counters: Counters;
  /** Connects, creates missing collections and indexes, and checks the schema version. Safe to call from several nodes at once. */
  prepare(signal?: AbortSignal): Promise<void>;
  /** Of a store opened for a restore, whose documents come in faster without: makes its indexes. May be repeated. Rejects as a write of the refused document would. */
  buildIndexes?(): Promise<void>;
  /** What `prepare` still has to change, beside the schema version. Of a server that it may connect to without changing anything. */
  changesDue?(): Promise<readonly PendingChange[]>;
  /** About how many documents a collection has, of the same. */
  estimate?(name: CollectionName): Promise<number>;
  /** What an operator wants to know of it, no secret: where it is, how large it was found, which versions meet. Empty before it is prepared. */
  facts?(): Readonly<Record<string, unknown>>;
  /**
   * What was deleted or replaced goes from its files as well; false while somebody reads what was there before, such as a backup. A store
   * whose files others keep has none.
   */
  scrub?(): Promise<boolean>;
  /** For the metrics. Asks no server for it. */
  usage?(): Promise<StoreUsage>;
  /** Resolves when the store answers; rejects with `StoreUnavailableError`. */
  ping(signal?: AbortSignal): Promise<void>;
  /** Waits for running operations, then releases everything. */
  close(): Promise<void>;
}
