import type { Behalf } from "../../base/behalf.ts";
import type { ChargeAnswer, ChargeRequest, SharedCounter } from "../counters/sharedCounter.ts";

/** The counters of rate limits (DESIGN §7), as the limiter needs them from an engine. */
export interface Counters {
  /**
   * Other nodes charge the same counters: they cannot spend the budget that this node holds, and every read is a network round
   * trip. False: a read costs next to nothing compared with a write.
   */
  readonly isShared: boolean;
  /** Returns synchronously where the counter is in memory. */
  readonly read: (key: string, behalf?: Behalf) => SharedCounter | null | Promise<SharedCounter | null>;
  /**
   * Charges budget to the counter in one atomic step, as `planCharge` decides, and returns what it granted. Rejects with
   * `StoreUnavailableError`; with `outcomeUnknown` the budget may have been charged, and held budget may have been given back.
   */
  readonly charge: (key: string, request: ChargeRequest, behalf?: Behalf) => Promise<ChargeAnswer>;
  /** Gives budget of window `seq` back; does nothing unless that window is the current or the previous one. */
  readonly refund: (key: string, seq: number, amount: number, behalf?: Behalf) => Promise<void>;
  /** Counters of a range of keys, ordered by key. Missing where counters are documents of the collection of that name. */
  readonly list?: (range: KeyRange, limit: number) => Promise<readonly KeyedCounter[]>;
  /**
   * One step through the keys with a prefix, of an engine that keeps them in no order and has no `list`. A key that exists throughout
   * comes at least once. @param cursor `next` of the step before; undefined: the first step
   */
  readonly scan?: (prefix: string, cursor?: string) => Promise<ScannedKeys>;
}

export interface ScannedKeys {
  readonly keys: readonly string[];
  /** Undefined: there is nothing more. */
  readonly next: string | undefined;
}

/** A range of keys in the order of their UTF-8 bytes. */
export type KeyRange = ({ readonly $gte: string; readonly $gt?: never } | { readonly $gt: string; readonly $gte?: never }) & {
  readonly $lt?: string;
};

export interface KeyedCounter extends SharedCounter {
  readonly key: string;
}
