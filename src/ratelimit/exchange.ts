import type { Behalf } from "../domain/behalf.ts";
import type { Clock } from "../domain/clock.ts";
import { weightedPrevious, windowAt } from "../domain/slidingWindow.ts";
import type { Counters, SharedCounter } from "../storage/port/counters.ts";
import { StoreUnavailableError } from "../storage/port/errors.ts";
import { type Counter, isKnown, learn, mostAhead, UNSEEN } from "./counter.ts";

/** Every failed attempt means that another node changed the counter; so many in a row mean that something is broken. */
const ATTEMPTS = 50;
/** A window that begins so much later than now was not counted by a node with a sane clock. */
const CLOCK_ERROR_MS = 60_000;

/** The last moment that a date can hold: keys may have windows longer than that (keys §1.6). */
const LAST_DATE = 8_640_000_000_000_000;

const expiry = (seq: number, duration: number): Date => new Date(Math.min(LAST_DATE, (seq + 3) * duration));

/**
 * The shared counter as it is at `clock`, and the time that this means: rolled forward in thought if nobody has
 * charged the current window yet, and as it stands if another node's clock is ahead. What a clock counted that was
 * set back since belongs to the window that it is now: else the counter would stand still until that time comes.
 */
export const asOf = (
  clock: Clock,
  shared: SharedCounter | null,
  duration: number,
): { readonly state: SharedCounter; readonly now: number } => {
  const now = clock.now();
  const seq = windowAt(now, duration);
  if (shared === null || shared.seq < seq - 1) return { state: { seq, current: 0, previous: 0 }, now };
  if (shared.seq === seq - 1) return { state: { seq, current: 0, previous: shared.current }, now };
  const start = shared.seq * duration;
  if (start - now > CLOCK_ERROR_MS) return { state: { seq, current: shared.current + shared.previous, previous: 0 }, now };
  return { state: shared, now: Math.max(now, start) };
};

/** For whoever is served now; what is given back by the way is nobody's in particular. */
const behalfOf = ({ line }: Counter): Behalf | undefined => line?.[0]?.claim.call.behalf;

export interface Exchange {
  /**
   * Charges budget to the shared counter, as one conditional write (DESIGN §4), so that `need` is held or, if that is
   * more, `chunk`, which counts up to a twentieth of what is left; else what there is room for, but at least `cost`.
   * True: `cost` is held, and all that is held now stands under `limit`. False: the store has no room for `cost`; nothing
   * was charged. Afterwards `counter` knows the shared state. Rejects with `StoreUnavailableError`.
   */
  readonly charge: (counter: Counter, limit: number, cost: number, need: number, chunk: number) => Promise<boolean>;
  /** Reads the shared state into `counter` and returns the time at which it holds. */
  readonly refresh: (counter: Counter) => Promise<number>;
  /** Gives the held budget back, once: with an unknown outcome it is lost, never given twice. */
  readonly refund: (counter: Counter) => Promise<void>;
  /** Gives back, beside everything else, what was charged in a window that the counter has left. */
  readonly giveBackLate: (counter: Counter, seq: number, amount: number) => void;
  /** Resolves when the store has answered everything that was given back late so far. */
  readonly settled: () => Promise<void>;
}

export const createExchange = (counters: Counters, clock: Clock): Exchange => {
  const late = new Set<Promise<void>>();
  const giveBackLate: Exchange["giveBackLate"] = (counter, seq, amount) => {
    const askAgain = (): void => {
      counter.learnedAt = Number.NEGATIVE_INFINITY;
    };
    const given = counters
      .refund(counter.key, seq, amount)
      .then(askAgain, () => undefined)
      .finally(() => late.delete(given));
    late.add(given);
  };

  const adopt = (counter: Counter, shared: SharedCounter, stored: boolean): void => {
    if (counter.seq !== shared.seq && counter.held > 0) giveBackLate(counter, counter.seq, counter.held);
    learn(counter, shared, stored, clock.monotonic());
  };

  const refund: Exchange["refund"] = async (counter) => {
    const { key, seq, held } = counter;
    if (held === 0) return;
    counter.held = 0;
    counter.current = Math.max(0, counter.current - held);
    await counters.refund(key, seq, held, behalfOf(counter));
  };

  const isOfEarlierWindow = (counter: Counter): boolean => counter.seq < windowAt(clock.now(), counter.duration);

  /**
   * Writes `amount` on top of what was read, unless the counter has changed meanwhile or has no room for it.
   * @param left what is given back of the held budget where the counter moves to another window
   */
  const write = async (
    counter: Counter,
    read: SharedCounter | null,
    state: SharedCounter,
    limit: number,
    amount: number,
    now: number,
    left: number,
  ): Promise<"written" | "changed" | "refused"> => {
    const { key, duration } = counter;
    const charged = { ...state, current: state.current + amount };
    if (read === null) {
      const after = await counters.open(key, state.seq, limit - amount, amount, expiry(state.seq, duration), behalfOf(counter));
      if (after === null) return "changed";
      adopt(counter, after, true);
      return "written";
    } else if (read.seq === state.seq) {
      const atMost = limit - weightedPrevious(state.previous, now, duration) - amount;
      const after = await counters.charge(key, state.seq, atMost, amount, behalfOf(counter));
      if (after === null) return "refused";
      adopt(counter, after, true);
      return "written";
    }
    // Before it is known whether it was given back: with an unknown outcome it is lost, never given twice.
    counter.held -= left;
    let isRolled = false;
    try {
      isRolled = await counters.roll(key, read, charged, expiry(state.seq, duration), behalfOf(counter));
    } catch (error) {
      if (!(error instanceof StoreUnavailableError && error.outcomeUnknown)) counter.held += left;
      throw error;
    }
    if (!isRolled) {
      counter.held += left;
      return "changed";
    }
    adopt(counter, charged, true);
    return "written";
  };

  /** Writes down that a clock was wrong, so that its counts age from now on. False when the counter has changed meanwhile. */
  const setBack = async (counter: Counter, read: SharedCounter | null, state: SharedCounter): Promise<boolean> =>
    read === null ||
    read.seq <= state.seq ||
    counters.roll(counter.key, read, state, expiry(state.seq, counter.duration), behalfOf(counter));

  return {
    charge: async (counter, limit, cost, need, chunk) => {
      const { key, duration } = counter;
      // What a higher limit allowed takes room from a lower one.
      if (counter.heldLimit > limit && !isOfEarlierWindow(counter)) await refund(counter);
      // What is already known saves a read; only what the store itself said just now can be a refusal.
      const known = counter.stored && counter.seq === windowAt(clock.now(), duration);
      // One that this node never saw is mostly new to all: where a read is a journey it is opened as such, and read if it
      // turns out not to be.
      const guessed = counter.seq === UNSEEN && counters.isShared;
      let read: SharedCounter | null = known ? { ...counter } : guessed ? null : await counters.read(key, behalfOf(counter));
      let fresh = !known && !guessed;
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const { state: asRead, now } = asOf(clock, read, duration);
        // What is left of a window that is over must not weigh on the next one: it goes back with the write that begins
        // that or, where another node has begun it, by itself.
        const isLeft = counter.held > 0 && counter.seq !== asRead.seq;
        const goesAlong = isLeft && read !== null && read.seq === counter.seq && read.seq < asRead.seq;
        if (isLeft && !goesAlong) {
          await refund(counter);
          read = await counters.read(key, behalfOf(counter));
          fresh = true;
          continue;
        }
        const left = goesAlong ? counter.held : 0;
        const state = left === 0 ? asRead : { ...asRead, previous: Math.max(0, asRead.previous - left) };
        const room = limit - state.current - weightedPrevious(state.previous, now, duration);
        // Also when nothing is missing: what is held was charged under another limit, and is judged under this one.
        const held = counter.seq === state.seq ? counter.held : 0;
        const needed = Math.max(0, cost - held);
        if (room >= needed) {
          const target = Math.max(need, Math.min(chunk, mostAhead(room + held)));
          const wanted = Math.max(needed, Math.min(target - held, room));
          let amount = wanted;
          let outcome = await write(counter, read, state, limit, wanted, now, left);
          if (outcome === "refused" && wanted > needed) {
            amount = needed;
            outcome = await write(counter, read, state, limit, needed, now, left);
          }
          if (outcome === "written") {
            counter.held += amount;
            counter.heldLimit = limit;
            counter.movedAt = clock.monotonic();
            return true;
          }
          // What was known too long ago may be of another window: only a read tells that from a refusal.
          if (outcome === "refused" && (fresh || isKnown(counter, state.seq, clock.monotonic()))) {
            if (fresh) adopt(counter, state, true);
            counter.current = Math.max(counter.current, limit - weightedPrevious(state.previous, now, duration) - needed + 1);
            return false;
          }
        } else if (left > 0) {
          // Nothing is written, so it has to go back by itself before anyone is judged by the counts without it.
          await refund(counter);
        } else if (fresh && (await setBack(counter, read, state))) {
          adopt(counter, state, read !== null && read.seq >= state.seq);
          return false;
        }
        read = await counters.read(key, behalfOf(counter));
        fresh = true;
      }
      throw new StoreUnavailableError("a rate limit counter changed too often to be charged");
    },

    refresh: async (counter) => {
      if (isOfEarlierWindow(counter)) await refund(counter);
      const read = await counters.read(counter.key, behalfOf(counter));
      const { state, now } = asOf(clock, read, counter.duration);
      adopt(counter, state, read?.seq === state.seq);
      return now;
    },

    refund,
    giveBackLate,
    settled: async () => {
      await Promise.all(late);
    },
  };
};
