import type { Clock } from "../domain/clock.ts";
import { weightedPrevious, windowAt } from "../domain/slidingWindow.ts";
import type { CountersRepository, SharedCounter } from "../storage/counters.ts";
import { StoreUnavailableError } from "../storage/errors.ts";
import { type Counter, learn } from "./counter.ts";

/** Every failed attempt means that another node changed the counter; so many in a row mean that something is broken. */
const ATTEMPTS = 50;

const expiry = (seq: number, duration: number): Date => new Date((seq + 3) * duration);

/** Wall-clock time for a counter that may already be in a later window because another node's clock is ahead. */
const timeWithin = (clock: Clock, shared: SharedCounter | null, duration: number): number =>
  Math.max(clock.now(), shared === null ? 0 : shared.seq * duration);

/**
 * The shared counter as it is at `now`: rolled forward in thought if nobody has charged the current window yet.
 */
const asOf = (shared: SharedCounter | null, seq: number): SharedCounter => {
  if (shared === null || shared.seq < seq - 1) return { seq, current: 0, previous: 0 };
  if (shared.seq === seq - 1) return { seq, current: 0, previous: shared.current };
  return shared;
};

export interface Exchange {
  /**
   * Charges budget to the shared counter, as one conditional write (DESIGN §4), so that `target` is held if there is
   * room for it, else what there is room for, but at least `cost`. True: `cost` is held, and all that is held now
   * stands under `limit`. False: the store has no room for `cost`; nothing was charged.
   * Afterwards `counter` knows the shared state. Rejects with `StoreUnavailableError`.
   */
  readonly charge: (counter: Counter, limit: number, cost: number, target: number) => Promise<boolean>;
  /** Reads the shared state into `counter` and returns the time at which it holds. */
  readonly refresh: (counter: Counter) => Promise<number>;
  /** Gives the held budget back, once: with an unknown outcome it is lost, never given twice. */
  readonly refund: (counter: Counter) => Promise<void>;
}

export const createExchange = (counters: CountersRepository, clock: Clock): Exchange => {
  const adopt = (counter: Counter, shared: SharedCounter): void => {
    if (counter.seq !== shared.seq) counter.held = 0;
    learn(counter, shared);
  };

  const refund: Exchange["refund"] = async (counter) => {
    const { key, seq, held } = counter;
    if (held === 0) return;
    counter.held = 0;
    counter.current = Math.max(0, counter.current - held);
    counter.deniedUntil = 0;
    await counters.refund(key, seq, held);
  };

  /**
   * Gives back what the held budget would falsify: what is left of a window that is over weighs on the next one, and
   * what a higher limit allowed takes room from a lower one.
   */
  const settle = async (counter: Counter, limit = Number.POSITIVE_INFINITY): Promise<void> => {
    const windowOver = counter.seq < windowAt(clock.now(), counter.duration);
    if (counter.held > 0 && (windowOver || counter.heldLimit > limit)) await refund(counter);
  };

  /** Writes `amount` on top of what was read; false when the counter has changed meanwhile. */
  const write = async (
    counter: Counter,
    read: SharedCounter | null,
    state: SharedCounter,
    limit: number,
    amount: number,
    now: number,
  ): Promise<boolean> => {
    const { key, duration } = counter;
    const charged = { ...state, current: state.current + amount };
    if (read === null) {
      if (!(await counters.create(key, charged, expiry(state.seq, duration)))) return false;
    } else if (read.seq === state.seq) {
      const after = await counters.charge(key, state.seq, limit - weightedPrevious(state.previous, now, duration) - amount, amount);
      if (after === null) return false;
      adopt(counter, after);
      return true;
    } else if (!(await counters.roll(key, read, charged, expiry(state.seq, duration)))) {
      return false;
    }
    adopt(counter, charged);
    return true;
  };

  return {
    charge: async (counter, limit, cost, target) => {
      const { key, duration } = counter;
      // What is already known saves a read; only what the store itself said just now can be a refusal.
      await settle(counter, limit);
      const known = counter.seq === windowAt(clock.now(), duration);
      let read: SharedCounter | null = known ? { ...counter } : await counters.read(key);
      let fresh = !known;
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const now = timeWithin(clock, read, duration);
        const state = asOf(read, windowAt(now, duration));
        if (counter.seq !== state.seq) counter.held = 0;
        const room = limit - state.current - weightedPrevious(state.previous, now, duration);
        // Also when nothing is missing: what is held was charged under another limit, and is judged under this one.
        const needed = Math.max(0, cost - counter.held);
        if (room >= needed) {
          const amount = Math.max(needed, Math.min(target - counter.held, room));
          if (await write(counter, read, state, limit, amount, now)) {
            counter.held += amount;
            counter.heldLimit = limit;
            return true;
          }
        } else if (fresh) {
          learn(counter, state);
          return false;
        }
        read = await counters.read(key);
        fresh = true;
      }
      throw new StoreUnavailableError("a rate limit counter changed too often to be charged");
    },

    refresh: async (counter) => {
      await settle(counter);
      const read = await counters.read(counter.key);
      const now = timeWithin(clock, read, counter.duration);
      adopt(counter, asOf(read, windowAt(now, counter.duration)));
      return now;
    },

    refund,
  };
};
