import type { Behalf } from "../domain/behalf.ts";
import type { Clock } from "../domain/clock.ts";
import { countsUntil, windowAt } from "../domain/slidingWindow.ts";
import type { Counters, SharedCounter } from "../storage/port/counters.ts";
import { StoreUnavailableError } from "../storage/port/errors.ts";
import type { ChargeRequest } from "./chargeRequest.ts";
import { isKnown, type LocalCounter, learn } from "./localCounter.ts";
import { type ChargeRefusal, type ChargeWrite, isHeldUnderHigherLimit, planCharge } from "./planCharge.ts";
import { rollForward } from "./rollForward.ts";

/** Every failed attempt means that another node changed the counter; so many in a row mean that something is broken. */
const ATTEMPTS = 50;

/** For whoever is served now; what is given back by the way is nobody's in particular. */
const behalfOf = ({ line }: LocalCounter): Behalf | undefined => line?.[0]?.claim.call.behalf;

/** Moves budget between the shared counters and this node. */
export interface Charger {
  /**
   * Charges budget to the shared counter, step by step as `planCharge` decides. True: the cost is held, and all that is
   * held now stands under the limit. False: the store has no room for the cost; nothing was charged. Afterwards `counter`
   * knows the shared state. Rejects with `StoreUnavailableError`.
   */
  readonly charge: (counter: LocalCounter, request: ChargeRequest) => Promise<boolean>;
  /** Reads the shared state into `counter` and returns the time at which it holds. */
  readonly refresh: (counter: LocalCounter) => Promise<number>;
  /** Gives the held budget back, once: with an unknown outcome it is lost, never given twice. */
  readonly refund: (counter: LocalCounter) => Promise<void>;
  /** Gives back, beside everything else, what was charged in a window that the counter has left. */
  readonly refundLate: (counter: LocalCounter, seq: number, amount: number) => void;
  /** Resolves when the store has answered every late refund so far. */
  readonly settled: () => Promise<void>;
}

export const createCharger = (counters: Counters, clock: Clock): Charger => {
  const late = new Set<Promise<void>>();
  const refundLate: Charger["refundLate"] = (counter, seq, amount) => {
    const askAgain = (): void => {
      counter.learnedAt = Number.NEGATIVE_INFINITY;
    };
    const given = counters
      .refund(counter.key, seq, amount)
      .then(askAgain, () => undefined)
      .finally(() => late.delete(given));
    late.add(given);
  };

  const adopt = (counter: LocalCounter, shared: SharedCounter, stored: boolean): void => {
    if (counter.seq !== shared.seq && counter.held > 0) refundLate(counter, counter.seq, counter.held);
    learn(counter, shared, stored, clock.monotonic());
  };

  const refund: Charger["refund"] = async (counter) => {
    const { key, seq, held } = counter;
    if (held === 0) return;
    counter.held = 0;
    counter.current = Math.max(0, counter.current - held);
    await counters.refund(key, seq, held, behalfOf(counter));
  };

  const roll = (counter: LocalCounter, from: SharedCounter, to: SharedCounter): Promise<boolean> =>
    counters.roll(counter.key, from, to, countsUntil(to.seq, counter.duration), behalfOf(counter));

  /** Rolls the counter to the window that is charged, and gives back what is left of the one before. */
  const rollAndGiveBack = async (counter: LocalCounter, from: SharedCounter, to: SharedCounter, givesBack: number): Promise<boolean> => {
    // Before it is known whether it was given back: with an unknown outcome it is lost, never given twice.
    counter.held -= givesBack;
    let isRolled = false;
    try {
      isRolled = await roll(counter, from, to);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError && error.outcomeUnknown)) counter.held += givesBack;
      throw error;
    }
    if (!isRolled) counter.held += givesBack;
    return isRolled;
  };

  /** Writes `amount` as planned, unless the counter has changed meanwhile or has no room for it. */
  const write = async (
    counter: LocalCounter,
    { from, state, ceiling, givesBack }: ChargeWrite,
    amount: number,
  ): Promise<"written" | "changed" | "full"> => {
    const { key, duration } = counter;
    const { seq } = state;
    let after: SharedCounter | null;
    if (from === null) {
      after = await counters.open(key, seq, ceiling - amount, amount, countsUntil(seq, duration), behalfOf(counter));
      if (after === null) return "changed";
    } else if (from.seq === seq) {
      after = await counters.charge(key, seq, ceiling - amount, amount, behalfOf(counter));
      if (after === null) return "full";
    } else {
      after = { seq, current: state.current + amount, previous: state.previous };
      if (!(await rollAndGiveBack(counter, from, after, givesBack))) return "changed";
    }
    adopt(counter, after, true);
    return "written";
  };

  /** False: the counter that was ahead has changed meanwhile. */
  const learnRefusal = async (counter: LocalCounter, { state, stored, setBackFrom }: ChargeRefusal): Promise<boolean> => {
    if (setBackFrom !== undefined && !(await roll(counter, setBackFrom, state))) return false;
    adopt(counter, state, stored);
    return true;
  };

  return {
    charge: async (counter, request) => {
      const { isShared } = counters;
      if (isHeldUnderHigherLimit({ counter, now: clock.now() }, request.limit)) await refund(counter);
      let read: SharedCounter | null | undefined;
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const plan = planCharge({ counter, read, now: clock.now(), isShared }, request);
        if (plan.kind === "refuse") {
          if (await learnRefusal(counter, plan)) return false;
        } else if (plan.kind === "refund") {
          await refund(counter);
        } else if (plan.kind === "write") {
          const { state, least, ceiling } = plan;
          let { amount } = plan;
          let outcome = await write(counter, plan, amount);
          if (outcome === "full" && amount > least) {
            amount = least;
            outcome = await write(counter, plan, amount);
          }
          if (outcome === "written") {
            counter.held += amount;
            counter.heldLimit = request.limit;
            counter.movedAt = clock.monotonic();
            return true;
          }
          // What was known too long ago may be of another window: only a read tells that from a refusal.
          if (outcome === "full" && (read !== undefined || isKnown(counter, state.seq, clock.monotonic()))) {
            if (read !== undefined) adopt(counter, state, true);
            counter.current = Math.max(counter.current, ceiling - least + 1);
            return false;
          }
        }
        read = await counters.read(counter.key, behalfOf(counter));
      }
      throw new StoreUnavailableError("a rate limit counter changed too often to be charged");
    },

    refresh: async (counter) => {
      const isOfEarlierWindow = counter.seq < windowAt(clock.now(), counter.duration);
      if (isOfEarlierWindow) await refund(counter);
      const read = await counters.read(counter.key, behalfOf(counter));
      const { state, now } = rollForward(read, counter.duration, clock.now());
      adopt(counter, state, read?.seq === state.seq);
      return now;
    },

    refund,
    refundLate,
    settled: async () => {
      await Promise.all(late);
    },
  };
};
