import type { SharedCounter } from "../../platform/storage/counters/sharedCounter.ts";
import type { CounterPlace } from "./counterKey.ts";

/** A counter of a namespace, as the store has it. */
export interface ListedCounter extends CounterPlace {
  readonly key: string;
  readonly shared: SharedCounter;
}

/** Lengths of windows, in the order of the keys: those behind `after`, up to `until` (inclusive). Undefined: without that bound. */
export interface Lengths {
  readonly after: number | undefined;
  readonly until: number | undefined;
}

export const ALL_LENGTHS: Lengths = { after: undefined, until: undefined };

export interface CounterWalk {
  readonly namespaceId: string;
  /** See `counterKeysOf`. */
  readonly run: string;
  /** What the identifiers begin with. */
  readonly prefix: string;
  /** Where to begin; undefined: with the first. */
  readonly from: CounterPlace | undefined;
  /** How many are wanted, as far as one can say beforehand. */
  readonly wanted: number;
  /** Counters of other lengths of window are left out. */
  readonly lengths: Lengths;
}
