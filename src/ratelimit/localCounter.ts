import type { Behalf } from "../domain/behalf.ts";
import type { SharedCounter } from "../domain/sharedCounter.ts";
import { weightedPrevious, windowAt } from "../domain/slidingWindow.ts";

/** No knowledge of the shared counts, and so no denial, is used from memory for longer than this (DESIGN §4). */
const BELIEVED_FOR_MS = 1_000;

/** What this node knows and holds of one shared counter, and who waits for it. Plain data; the functions below are its rules. */
export interface LocalCounter {
  readonly key: string;
  readonly duration: number;
  /** Window that everything below speaks of. */
  seq: number;
  /** Shared counts as of the store's last answer; what this node charged is in `current`. */
  current: number;
  previous: number;
  /** When that answer came, and when it was asked for; monotonic ms. */
  learnedAt: number;
  askedAt: number;
  /** When its counts refused a claim last, monotonic ms. */
  refusedAt: number;
  /** The store has the counter in this window: false when nobody has charged it yet. */
  stored: boolean;
  /** Budget that was charged to the store and not spent yet. */
  held: number;
  /** The limit under which `held` was charged: calls with a lower one must ask the store. */
  heldLimit: number;
  /** Taken out of `held` by calls that wait for their other limits: spent or given back once those have decided. */
  reserved: number;
  /** When budget was charged or spent last, monotonic ms. */
  movedAt: number;
  /** Admissions without the store while it is away, and their window. */
  awaySeq: number;
  awaySpent: number;
  /** Size of the next chunk, and when the last one was charged (monotonic ms). */
  chunk: number;
  chargedAt: number;
  /** Last call of any kind, monotonic ms. */
  usedAt: number;
  /** Calls that wait for the store; undefined when none does. */
  line: Line | undefined;
}

/** Budget or knowledge held in memory, the store, or the policy for a store that is away. */
export type DecisionSource = "memory" | "store" | "store_down";

/** One limit's word on a call. */
export interface Grant {
  readonly granted: boolean;
  /** Taken from the budget until the other limits have decided; 0 = nothing, or spent already. */
  readonly reserved: number;
  /** Window that the budget is of. */
  readonly seq: number;
  /** Time at which it was judged. */
  readonly now: number;
  readonly remaining: number;
  readonly source: DecisionSource;
}

/** One limit that a call asks. */
export interface Claim {
  readonly counter: LocalCounter;
  readonly limit: number;
  readonly cost: number;
  /** What the call's claims before this one ask of the same counter: it is judged after them. */
  readonly earlier: number;
  readonly call: LimitedCall;
  grant: Grant | undefined;
}

/** A call that takes from all of its limits or from none. */
export interface LimitedCall {
  readonly claims: Claim[];
  /** When the call arrived: Unix ms, and the same moment on the monotonic clock. Its limits are judged as of then (ratelimit §3). */
  readonly now: number;
  readonly monotonic: number;
  readonly behalf: Behalf | undefined;
  /** No caller's limits: the service's own. */
  readonly isOwn: boolean;
  /** A limit has refused: nothing will be taken, the others only tell what they have. */
  lost: boolean;
}

/** A claim in the line of its counter. */
export interface Waiter {
  readonly claim: Claim;
  readonly resolve: (grant: Grant) => void;
  readonly reject: (error: unknown) => void;
}

/** The claims that wait for one counter, in order of arrival. */
export interface Line {
  readonly waiters: Waiter[];
  /** Sum of their costs. */
  cost: number;
  /** The largest cost and the lowest limit of a claim that has waited. */
  largestCost: number;
  lowestLimit: number;
  /** Waiters whose call has other limits, which may refuse it: then it takes nothing here. */
  withOthers: number;
}

/** The window of a counter of which this node knows nothing. */
export const UNSEEN = -1;

export const createLocalCounter = (key: string, duration: number): LocalCounter => ({
  key,
  duration,
  seq: UNSEEN,
  current: 0,
  previous: 0,
  learnedAt: Number.NEGATIVE_INFINITY,
  askedAt: Number.NEGATIVE_INFINITY,
  refusedAt: Number.NEGATIVE_INFINITY,
  stored: false,
  held: 0,
  heldLimit: 0,
  reserved: 0,
  movedAt: 0,
  awaySeq: -1,
  awaySpent: 0,
  chunk: 1,
  chargedAt: 0,
  usedAt: 0,
  line: undefined,
});

/** `now`, moved into the window that the counter speaks of: another node's clock, or an answer, may have crossed its ends. */
export const timeWithin = ({ seq, duration }: LocalCounter, now: number): number =>
  Math.min(Math.max(now, seq * duration), (seq + 1) * duration - 1);

/** What is used up at `now`, without the budget that this node holds unspent. */
export const usedAt = (counter: LocalCounter, now: number): number =>
  counter.current + weightedPrevious(counter.previous, now, counter.duration) - counter.held - counter.reserved;

/** What a caller under `limit` has left at `now`, as of the store's last answer. */
export const remainingAt = (counter: LocalCounter, limit: number, now: number): number => Math.max(0, limit - usedAt(counter, now));

/** True when the held budget may serve a call of this limit in window `seq`. Cost 0 reads the store. */
export const canTake = (counter: LocalCounter, seq: number, limit: number, cost: number): boolean =>
  counter.seq === seq && cost <= counter.held && limit >= counter.heldLimit && cost > 0;

/** True when the counts of window `seq` were learned so lately that a call which takes nothing may be told them. */
export const isKnown = (counter: LocalCounter, seq: number, monotonic: number): boolean =>
  counter.seq === seq && monotonic - counter.learnedAt < BELIEVED_FOR_MS;

/** True when the counts refused a claim within the time for which they are believed. */
export const hasJustRefused = (counter: LocalCounter, monotonic: number): boolean => monotonic - counter.refusedAt < BELIEVED_FOR_MS;

/**
 * Takes over the store's answer to a question that was sent at `askedAt` and answered at `monotonic`.
 * @param stored the store has the counter in that window
 */
export const learn = (counter: LocalCounter, shared: SharedCounter, stored: boolean, askedAt: number, monotonic: number): void => {
  if (counter.seq !== shared.seq) {
    counter.held = 0;
    counter.reserved = 0;
  }
  counter.seq = shared.seq;
  counter.current = shared.current;
  counter.previous = shared.previous;
  counter.learnedAt = monotonic;
  counter.askedAt = askedAt;
  counter.stored = stored;
};

/**
 * True when neither the held budget nor the store, as it was learned lately, can serve the call at `now`: by the formula
 * itself, so that one node by itself denies exactly what the store would.
 */
export const isDenied = (counter: LocalCounter, limit: number, cost: number, now: number, monotonic: number): boolean =>
  cost > 0 && isKnown(counter, windowAt(now, counter.duration), monotonic) && usedAt(counter, now) + counter.reserved + cost > limit;

/** Counts an admission without the store; false beyond one limit in the window of `now`. */
export const admitWithoutStore = (counter: LocalCounter, limit: number, cost: number, now: number): boolean => {
  const seq = windowAt(now, counter.duration);
  if (counter.awaySeq !== seq) {
    counter.awaySeq = seq;
    counter.awaySpent = 0;
  }
  if (counter.awaySpent + cost > limit) return false;
  counter.awaySpent += cost;
  return true;
};
