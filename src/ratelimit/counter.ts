import { earliestPass, weightedPrevious } from "../domain/slidingWindow.ts";
import type { SharedCounter } from "../storage/counters.ts";

/** No denial is repeated from memory for longer than this without asking the store (DESIGN §4). */
const DENY_AT_MOST_MS = 1_000;

/** What this node knows and holds of one counter. Plain data; the functions below are its rules. */
export interface Counter {
  readonly key: string;
  readonly duration: number;
  /** Window that everything below speaks of. */
  seq: number;
  /** Shared counts as of the last exchange with the store; what this node charged is in `current`. */
  current: number;
  previous: number;
  /** Budget that was charged to the store and not spent yet. */
  held: number;
  /** The limit under which `held` was charged: calls with a lower one must ask the store. */
  heldLimit: number;
  /** Until then (Unix ms) calls of at most `deniedLimit` that cost at least `deniedCost` cannot pass. */
  deniedUntil: number;
  deniedLimit: number;
  deniedCost: number;
  /** Admissions without the store while it is away, and their window. */
  awaySeq: number;
  awaySpent: number;
  /** Size of the next chunk, and when the last one was charged (monotonic ms). */
  chunk: number;
  chargedAt: number;
  /** Monotonic ms. */
  usedAt: number;
}

export const createCounter = (key: string, duration: number): Counter => ({
  key,
  duration,
  seq: -1,
  current: 0,
  previous: 0,
  held: 0,
  heldLimit: 0,
  deniedUntil: 0,
  deniedLimit: 0,
  deniedCost: 0,
  awaySeq: -1,
  awaySpent: 0,
  chunk: 1,
  chargedAt: 0,
  usedAt: 0,
});

/** What is used up at `now`, without the budget that this node holds unspent. */
export const usedAt = (counter: Counter, now: number): number =>
  counter.current + weightedPrevious(counter.previous, now, counter.duration) - counter.held;

/** What a caller under `limit` has left at `now`, as of the last exchange. */
export const remainingAt = (counter: Counter, limit: number, now: number): number => Math.max(0, limit - usedAt(counter, now));

/** Takes `cost` out of the held budget if that may serve a call of this limit in window `seq`. */
export const takeHeld = (counter: Counter, seq: number, limit: number, cost: number): boolean => {
  if (counter.seq !== seq || cost > counter.held || limit < counter.heldLimit || cost === 0) return false;
  counter.held -= cost;
  return true;
};

/** Takes over what the store said of window `shared.seq`. */
export const learn = (counter: Counter, shared: SharedCounter): void => {
  counter.seq = shared.seq;
  counter.current = shared.current;
  counter.previous = shared.previous;
  counter.deniedUntil = 0;
};

/** Remembers that the store refused `cost` under `limit` at `now`, for as long as that must hold. */
export const rememberDenial = (counter: Counter, limit: number, cost: number, now: number): void => {
  const { current, previous, duration, held } = counter;
  const until = earliestPass({ current: current - held, previous }, { limit, duration, cost }, now);
  counter.deniedUntil = Math.min(until, now + DENY_AT_MOST_MS);
  counter.deniedLimit = limit;
  counter.deniedCost = cost;
};

export const isDenied = (counter: Counter, limit: number, cost: number, now: number): boolean =>
  now < counter.deniedUntil && limit <= counter.deniedLimit && cost >= counter.deniedCost && cost > 0;
