import type { Behalf } from "../../domain/behalf.ts";

/** The shared state of one counter: `current` counts window `seq`, `previous` the one before it. */
export interface SharedCounter {
  readonly seq: number;
  readonly current: number;
  readonly previous: number;
}

/** The counters of rate limits (DESIGN §4), as whoever judges by them needs them from an engine. */
export interface Counters {
  /**
   * Other nodes charge the same counters: what this one holds of their budget the others cannot spend, and a read is a
   * journey to the server that they share. Else a read costs next to nothing beside a write.
   */
  readonly isShared: boolean;
  /** At once where the counter is in memory. */
  readonly read: (key: string, behalf?: Behalf) => SharedCounter | null | Promise<SharedCounter | null>;
  /** Adds `amount` to window `seq` if its count is at most `atMost`. Null: the counter is in another window, or over. */
  readonly charge: (key: string, seq: number, atMost: number, amount: number, behalf?: Behalf) => Promise<SharedCounter | null>;
  /**
   * Makes the counter in window `seq` with `amount` in it, or adds that if it is there, in that window, with nothing in the
   * window before it and a count of at most `atMost`. Null: it is there and otherwise.
   */
  readonly open: (
    key: string,
    seq: number,
    atMost: number,
    amount: number,
    expireAt: Date,
    behalf?: Behalf,
  ) => Promise<SharedCounter | null>;
  /** Moves the counter from the window that was read as `from` to another one. False: it is no longer what was read. */
  readonly roll: (key: string, from: SharedCounter, to: SharedCounter, expireAt: Date, behalf?: Behalf) => Promise<boolean>;
  /** Gives budget of window `seq` back; does nothing unless that window is the current or the previous one. */
  readonly refund: (key: string, seq: number, amount: number, behalf?: Behalf) => Promise<void>;
  /** Counters of a range of keys, in the order of the keys. Missing where counters are documents of the collection of that name. */
  readonly list?: (range: KeyRange, limit: number) => Promise<readonly KeyedCounter[]>;
}

/** Keys in the order of their UTF-8 bytes, from the one bound up to the other. */
export type KeyRange = ({ readonly $gte: string; readonly $gt?: never } | { readonly $gt: string; readonly $gte?: never }) & {
  readonly $lt?: string;
};

export interface KeyedCounter extends SharedCounter {
  readonly key: string;
}
