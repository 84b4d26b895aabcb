import { earliestPass, weightedPrevious, windowAt } from "../domain/slidingWindow.ts";
import type { SharedCounter } from "../storage/counters.ts";

/** No denial, and no knowledge of the shared counts, is used from memory for longer than this (DESIGN §4). */
const BELIEVED_FOR_MS = 1_000;

/** What this node knows and holds of one counter. Plain data; the functions below are its rules. */
export interface Counter {
  readonly key: string;
  readonly duration: number;
  /** Window that everything below speaks of. */
  seq: number;
  /** Shared counts as of the last exchange with the store; what this node charged is in `current`. */
  current: number;
  previous: number;
  /** When that was, monotonic ms. */
  learnedAt: number;
  /** Budget that was charged to the store and not spent yet. */
  held: number;
  /** The limit under which `held` was charged: calls with a lower one must ask the store. */
  heldLimit: number;
  /** Taken out of `held` by calls that wait for their other limits: spent or given back once those have decided. */
  reserved: number;
  /** When budget was charged or spent last, monotonic ms. */
  movedAt: number;
  /** Until then (Unix ms) calls of at most `deniedLimit` that cost at least `deniedCost` cannot pass. */
  deniedUntil: number;
  deniedLimit: number;
  deniedCost: number;
  /** When the store said so, monotonic ms: the wall clock may be set back. */
  deniedAt: number;
  /** Admissions without the store while it is away, and their window. */
  awaySeq: number;
  awaySpent: number;
  /** Size of the next chunk, and when the last one was charged (monotonic ms). */
  chunk: number;
  chargedAt: number;
  /** Last call of any kind, monotonic ms. */
  usedAt: number;
}

export const createCounter = (key: string, duration: number): Counter => ({
  key,
  duration,
  seq: -1,
  current: 0,
  previous: 0,
  learnedAt: Number.NEGATIVE_INFINITY,
  held: 0,
  heldLimit: 0,
  reserved: 0,
  movedAt: 0,
  deniedUntil: 0,
  deniedLimit: 0,
  deniedCost: 0,
  deniedAt: Number.NEGATIVE_INFINITY,
  awaySeq: -1,
  awaySpent: 0,
  chunk: 1,
  chargedAt: 0,
  usedAt: 0,
});

/** `now`, moved into the window that the counter speaks of: another node's clock, or an answer, may have crossed its ends. */
export const timeWithin = ({ seq, duration }: Counter, now: number): number =>
  Math.min(Math.max(now, seq * duration), (seq + 1) * duration - 1);

/** What is used up at `now`, without the budget that this node holds unspent. */
export const usedAt = (counter: Counter, now: number): number =>
  counter.current + weightedPrevious(counter.previous, now, counter.duration) - counter.held - counter.reserved;

/** What a caller under `limit` has left at `now`, as of the last exchange. */
export const remainingAt = (counter: Counter, limit: number, now: number): number => Math.max(0, limit - usedAt(counter, now));

/** True when the held budget may serve a call of this limit in window `seq`. Cost 0 reads the store. */
export const canTake = (counter: Counter, seq: number, limit: number, cost: number): boolean =>
  counter.seq === seq && cost <= counter.held && limit >= counter.heldLimit && cost > 0;

/** True when the counts of window `seq` were learned so lately that a call which takes nothing may be told them. */
export const isKnown = (counter: Counter, seq: number, monotonic: number): boolean =>
  counter.seq === seq && monotonic - counter.learnedAt < BELIEVED_FOR_MS;

/** Takes over what the store said of window `shared.seq`. */
export const learn = (counter: Counter, shared: SharedCounter, monotonic: number): void => {
  if (counter.seq !== shared.seq) {
    counter.held = 0;
    counter.reserved = 0;
  }
  counter.seq = shared.seq;
  counter.current = shared.current;
  counter.previous = shared.previous;
  counter.learnedAt = monotonic;
  counter.deniedUntil = 0;
};

/** Remembers that the store refused `cost` under `limit` at `now`, for as long as that must hold. */
export const rememberDenial = (counter: Counter, limit: number, cost: number, now: number, monotonic: number): void => {
  const { current, previous, duration, held, reserved } = counter;
  counter.deniedUntil = earliestPass({ current: current - held - reserved, previous }, { limit, duration, cost }, now);
  counter.deniedLimit = limit;
  counter.deniedCost = cost;
  counter.deniedAt = monotonic;
};

export const isDenied = (counter: Counter, limit: number, cost: number, now: number, monotonic: number): boolean =>
  now < counter.deniedUntil &&
  monotonic - counter.deniedAt < BELIEVED_FOR_MS &&
  limit <= counter.deniedLimit &&
  cost >= counter.deniedCost &&
  cost > 0;

/** Counts an admission without the store; false beyond one limit in the window of `now`. */
export const admitWithoutStore = (counter: Counter, limit: number, cost: number, now: number): boolean => {
  const seq = windowAt(now, counter.duration);
  if (counter.awaySeq !== seq) {
    counter.awaySeq = seq;
    counter.awaySpent = 0;
  }
  if (counter.awaySpent + cost > limit) return false;
  counter.awaySpent += cost;
  return true;
};
