import type { Clock } from "../../../domain/clock.ts";
import type { Counters } from "../../port/counters.ts";
import type { CounterLog } from "./counterLog.ts";

/** Counters of rate limits (DESIGN §4) that are kept in the logs of nodes. */
export const loggedCounters = (log: CounterLog, _clock: Clock): Counters => {
  return {
    isShared: true,
    read: (key) => log.read(key),
    charge: (key, seq, atMost, amount) => {
      const known = log.known(key);
      const told = known?.toldSeq === seq ? known.told : 0;
      return log.claim({
        key,
        seq,
        amount,
        // What was known of the window before may have grown since room was planned: that takes as much at most.
        fits: (counter) => counter.seq === seq && counter.current + Math.max(0, counter.previous - told) <= atMost + amount,
      });
    },
    open: (key, seq, atMost, amount) =>
      log.claim({
        key,
        seq,
        amount,
        fits: (counter) => counter.seq === seq && counter.previous <= 0 && counter.current <= atMost + amount,
      }),
    roll: async (key, from, to) => {
      if (to.seq <= from.seq) {
        // A clock was set back. Whoever asked reads the counter again, and finds it where it belongs.
        await log.change({ key, seq: to.seq, amount: null });
        return false;
      }
      const isNext = to.seq === from.seq + 1;
      const rolled = await log.claim({
        key,
        seq: to.seq,
        amount: to.current,
        told: to.previous,
        fits: (counter) => counter.seq === to.seq && counter.current <= to.current && counter.previous <= (isNext ? from.current : 0),
      });
      if (rolled === null) return false;
      const givesBack = isNext ? from.current - to.previous : 0;
      if (givesBack > 0) await log.change({ key, seq: from.seq, amount: -givesBack });
      return true;
    },
    refund: (key, seq, amount) => log.change({ key, seq, amount: -amount }),
  };
};
