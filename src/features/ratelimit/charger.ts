import type { Behalf } from "../../platform/base/behalf.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { rollForward } from "../../platform/storage/counters/rollForward.ts";
import type { SharedCounter } from "../../platform/storage/counters/sharedCounter.ts";
import { windowAt } from "../../platform/storage/counters/slidingWindow.ts";
import type { Counters } from "../../platform/storage/port/counters.ts";
import { StoreUnavailableError } from "../../platform/storage/port/errors.ts";
import type { ChargeSize } from "./chargeSize.ts";
import { type LocalCounter, learn, UNSEEN } from "./localCounter.ts";

/** The call that is served now; a refund in between is made on its behalf. */
const behalfOf = ({ line }: LocalCounter): Behalf | undefined => line?.waiters[0]?.claim.call.behalf;

/** The counter as the engine presumably has it, see `ChargeRequest.known`. */
const knownOf = ({ seq, current, previous, stored, duration }: LocalCounter, now: number): SharedCounter | null | undefined => {
  if (seq === UNSEEN) return null;
  return stored && seq === windowAt(now, duration) ? { seq, current, previous } : undefined;
};

/** Moves budget between the shared counters and this node. */
export interface Charger {
  /**
   * Charges budget to the shared counter. True: the cost is held, and all held budget is within the limit. False: there is no
   * room for the cost; nothing was charged. Afterwards `counter` knows the shared state. Rejects with `StoreUnavailableError`.
   */
  readonly charge: (counter: LocalCounter, size: ChargeSize) => Promise<boolean>;
  /** Reads the shared state into `counter` and returns the time at which it holds. */
  readonly refresh: (counter: LocalCounter) => Promise<number>;
  /** Gives the held budget back, once: with an unknown outcome it is lost, never given twice. */
  readonly refund: (counter: LocalCounter) => Promise<void>;
  /** Gives back, concurrently with everything else, what was charged in a window that the counter has left. */
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

  const refund: Charger["refund"] = async (counter) => {
    const { key, seq, held } = counter;
    if (held === 0) return;
    counter.held = 0;
    counter.current = Math.max(0, counter.current - held);
    await counters.refund(key, seq, held, behalfOf(counter));
  };

  /** What a higher limit allowed would take room from a lower one. */
  const isHeldUnderHigherLimit = ({ held, heldLimit, seq, duration }: LocalCounter, limit: number): boolean =>
    held > 0 && heldLimit > limit && seq >= windowAt(clock.now(), duration);

  return {
    charge: async (counter, size) => {
      if (isHeldUnderHigherLimit(counter, size.limit)) await refund(counter);
      const now = clock.now();
      const askedAt = clock.monotonic();
      const { key, duration, held, seq: heldSeq } = counter;
      const request = { ...size, duration, now, held, heldSeq, known: knownOf(counter, now) };
      let answer: Awaited<ReturnType<Counters["charge"]>>;
      try {
        answer = await counters.charge(key, request, behalfOf(counter));
      } catch (error) {
        // It may have been given back with the charge: lost, it admits too little for a while, given twice too much.
        if (error instanceof StoreUnavailableError && error.outcomeUnknown) counter.held = 0;
        throw error;
      }
      learn(counter, answer.counter, answer.isStored, askedAt, clock.monotonic());
      if (!answer.isGranted) return false;
      counter.held += answer.amount;
      counter.heldLimit = size.limit;
      counter.movedAt = clock.monotonic();
      return true;
    },

    refresh: async (counter) => {
      if (counter.seq < windowAt(clock.now(), counter.duration)) await refund(counter);
      const askedAt = clock.monotonic();
      const read = await counters.read(counter.key, behalfOf(counter));
      const { state, now } = rollForward(read, counter.duration, clock.now());
      if (counter.seq !== state.seq && counter.held > 0) refundLate(counter, counter.seq, counter.held);
      learn(counter, state, read?.seq === state.seq, askedAt, clock.monotonic());
      return now;
    },

    refund,
    refundLate,
    settled: async () => {
      await Promise.all(late);
    },
  };
};
