import { rollForward } from "./rollForward.ts";
import { type ChargeAnswer, type ChargeRequest, mostAhead, refunded, type SharedCounter } from "./sharedCounter.ts";
import { weightedPrevious } from "./slidingWindow.ts";

/** A conditional write that puts `amount` on the shared counter. */
export interface ChargeWrite {
  readonly kind: "write";
  /** The counter as the write expects it: null, not there; in the window of `state`, or in another one that it is rolled out of. */
  readonly from: SharedCounter | null;
  /** The window that is charged, without `amount`. */
  readonly state: SharedCounter;
  readonly amount: number;
  /** The most that the window may count afterwards. */
  readonly ceiling: number;
  /** Held budget of the window before, which the roll gives back: it is already missing in `state.previous`. */
  readonly givesBack: number;
}

/** The limit has no room. */
export interface ChargeRefusal {
  readonly kind: "refuse";
  /** The counter as of now. */
  readonly state: SharedCounter;
  /** The engine has the counter in that window. */
  readonly isStored: boolean;
  /** A clock that was wrong counted this: the counter is rolled to `state` first, so that its counts age from now on. */
  readonly setBackFrom: SharedCounter | undefined;
}

/** The next step of a charge. */
export type ChargePlan =
  | ChargeWrite
  | ChargeRefusal
  /** The held budget is refunded by a write of its own; then the counter is read. */
  | { readonly kind: "refund" }
  /** The hint does not decide: the counter has to be read. */
  | { readonly kind: "reread" };

const REFUND: ChargePlan = { kind: "refund" };
const REREAD: ChargePlan = { kind: "reread" };

/**
 * Decides the next step by which budget is charged to a shared counter (DESIGN §7), so that afterwards the node holds `need`
 * or, if that is more, `chunk`; else as much as there is room for, but at least `cost`. Pure.
 * A hint may be stale, so only a counter that was read refuses.
 * @param read the counter as the engine has it, null where it has none; undefined: not read yet
 */
export const planCharge = (request: ChargeRequest, read: SharedCounter | null | undefined): ChargePlan => {
  const { duration, limit, cost, need, chunk, held, heldSeq, known } = request;
  const from = read === undefined ? known : read;
  if (from === undefined) return REREAD;
  const { state: asRead, now } = rollForward(from, duration, request.now);

  // Budget left from a window that is over must not weigh on the next one. It goes back with the write that begins the next
  // window or, where another node has begun it, by a write of its own.
  const isLeft = held > 0 && heldSeq !== asRead.seq;
  const goesAlong = isLeft && from !== null && from.seq === heldSeq && from.seq < asRead.seq;
  if (isLeft && !goesAlong) return REFUND;
  const givesBack = goesAlong ? held : 0;
  const state = goesAlong ? { ...asRead, previous: Math.max(0, asRead.previous - held) } : asRead;

  const ceiling = limit - weightedPrevious(state.previous, now, duration);
  const room = ceiling - state.current;
  // Held budget is judged again: it may have been charged under another limit.
  const heldHere = isLeft ? 0 : held;
  const least = Math.max(0, cost - heldHere);
  if (room >= least) {
    const target = Math.max(need, Math.min(chunk, mostAhead(room + heldHere)));
    const amount = Math.max(least, Math.min(target - heldHere, room));
    return { kind: "write", from, state, amount, ceiling, givesBack };
  }
  // A refusal writes nothing, so the budget goes back first: nobody may be judged by counts that include it.
  if (goesAlong) return REFUND;
  if (read === undefined) return REREAD;
  const isAhead = from !== null && from.seq > state.seq;
  return { kind: "refuse", state, isStored: from !== null && from.seq >= state.seq, setBackFrom: isAhead ? from : undefined };
};

/** What a charge makes of a counter. */
export interface Charged {
  /** The counter to store. Undefined: it stays as it is. */
  readonly next: SharedCounter | undefined;
  readonly answer: ChargeAnswer;
}

/** Charges a counter that is in memory, in one step. @param counter null where the engine has none */
export const chargeCounter = (counter: SharedCounter | null, request: ChargeRequest): Charged => {
  const plan = planCharge(request, counter);
  switch (plan.kind) {
    case "write": {
      const next = { ...plan.state, current: plan.state.current + plan.amount };
      const isChanged = plan.amount > 0 || plan.from?.seq !== next.seq;
      return { next: isChanged ? next : undefined, answer: { isGranted: true, amount: plan.amount, counter: next, isStored: true } };
    }
    case "refuse": {
      const { state, isStored, setBackFrom } = plan;
      return { next: setBackFrom && state, answer: { isGranted: false, amount: 0, counter: state, isStored } };
    }
    default: {
      const given = counter && refunded(counter, request.heldSeq, request.held);
      const { next, answer } = chargeCounter(given, { ...request, held: 0 });
      return { next: next ?? (given === counter ? undefined : (given ?? undefined)), answer };
    }
  }
};
