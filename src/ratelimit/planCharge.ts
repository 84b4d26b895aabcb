import { weightedPrevious, windowAt } from "../domain/slidingWindow.ts";
import type { SharedCounter } from "../storage/port/counters.ts";
import type { ChargeRequest } from "./chargeRequest.ts";
import { type LocalCounter, mostAhead, UNSEEN } from "./localCounter.ts";
import { rollForward } from "./rollForward.ts";

/** What is known when a charge is planned. */
export interface ChargeBasis {
  readonly counter: Pick<LocalCounter, "duration" | "seq" | "current" | "previous" | "stored" | "held" | "heldLimit">;
  /** What this charge has read from the store, null where the counter is not there; undefined: it has not read yet. */
  readonly read: SharedCounter | null | undefined;
  /** Unix ms. */
  readonly now: number;
  /** Other nodes charge the counter, too. */
  readonly isShared: boolean;
}

/** A conditional write that puts `amount` on the shared counter. */
export interface ChargeWrite {
  readonly kind: "write";
  /** The counter as the write expects it: null, not there; in the window of `state`, or in another one that it is rolled out of. */
  readonly from: SharedCounter | null;
  /** The window that is charged, without `amount`. */
  readonly state: SharedCounter;
  readonly amount: number;
  /** What to charge if there is no room for `amount`: without it the call cannot pass. */
  readonly least: number;
  /** The most that the window may count afterwards. */
  readonly ceiling: number;
  /** Held budget of the window before, which the roll gives back by the way: it is missing in `state.previous`. */
  readonly givesBack: number;
}

/** The limit has no room. */
export interface ChargeRefusal {
  readonly kind: "refuse";
  /** The counter as it is now. */
  readonly state: SharedCounter;
  /** The store has it in that window. */
  readonly stored: boolean;
  /** A clock that was wrong counted this: it is rolled to `state` first, so that its counts age from now on. */
  readonly setBackFrom: SharedCounter | undefined;
}

/** The next step of a charge. */
export type ChargePlan =
  | ChargeWrite
  | ChargeRefusal
  /** The held budget goes back by itself; then the counter is read. */
  | { readonly kind: "refund" }
  /** Only what the store says now decides. */
  | { readonly kind: "reread" };

const REFUND: ChargePlan = { kind: "refund" };
const REREAD: ChargePlan = { kind: "reread" };

/** True when held budget has to go back before a charge is planned: what a higher limit allowed takes room from a lower one. */
export const isHeldUnderHigherLimit = ({ counter, now }: Pick<ChargeBasis, "counter" | "now">, limit: number): boolean =>
  counter.held > 0 && counter.heldLimit > limit && counter.seq >= windowAt(now, counter.duration);

/** The shared counter without asking the store; undefined where it has to be asked. */
const withoutReading = ({ counter, now, isShared }: ChargeBasis): SharedCounter | null | undefined => {
  if (counter.stored && counter.seq === windowAt(now, counter.duration)) {
    return { seq: counter.seq, current: counter.current, previous: counter.previous };
  }
  // One that this node never saw is mostly new to all: where a read is a journey it is opened as such, and read if it
  // turns out not to be.
  return counter.seq === UNSEEN && isShared ? null : undefined;
};

/**
 * Decides the next step by which a node charges budget to a shared counter (DESIGN §4), so that afterwards `need` is held
 * or, if that is more, `chunk`; else what there is room for, but at least `cost`. Pure: `charger.ts` takes the step.
 * What is known without a read may be out of date: the store checks every write, and this refuses only by what was read.
 */
export const planCharge = (basis: ChargeBasis, { limit, cost, need, chunk }: ChargeRequest): ChargePlan => {
  const { counter, read, now: time } = basis;
  const { duration, held } = counter;

  const from = read === undefined ? withoutReading(basis) : read;
  if (from === undefined) return REREAD;
  const { state: asRead, now } = rollForward(from, duration, time);

  // What is left of a window that is over must not weigh on the next one: it goes back with the write that begins that
  // or, where another node has begun it, by itself.
  const isLeft = held > 0 && counter.seq !== asRead.seq;
  const goesAlong = isLeft && from !== null && from.seq === counter.seq && from.seq < asRead.seq;
  if (isLeft && !goesAlong) return REFUND;
  const givesBack = goesAlong ? held : 0;
  const state = goesAlong ? { ...asRead, previous: Math.max(0, asRead.previous - held) } : asRead;

  const ceiling = limit - weightedPrevious(state.previous, now, duration);
  const room = ceiling - state.current;
  // Also when nothing is missing: what is held was charged under another limit, and is judged under this one.
  const heldHere = isLeft ? 0 : held;
  const least = Math.max(0, cost - heldHere);
  if (room >= least) {
    const target = Math.max(need, Math.min(chunk, mostAhead(room + heldHere)));
    const amount = Math.max(least, Math.min(target - heldHere, room));
    return { kind: "write", from, state, amount, least, ceiling, givesBack };
  }
  // Nothing is written, so it has to go back by itself before anyone is judged by the counts without it.
  if (goesAlong) return REFUND;
  if (read === undefined) return REREAD;
  const isAhead = from !== null && from.seq > state.seq;
  return { kind: "refuse", state, stored: from !== null && from.seq >= state.seq, setBackFrom: isAhead ? from : undefined };
};
