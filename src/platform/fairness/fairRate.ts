import type { Clock } from "../base/clock.ts";
import { type CallerPath, createFairShares } from "./fairShares.ts";

/** What callers may use up in each interval, shared fairly between them (`createFairShares`). */
export interface FairRate {
  /**
   * Takes `amount` of this interval, or says that the caller has had its share. That others used up everything is no reason
   * to refuse it to a caller that has not, nor the first amount to anyone.
   */
  readonly spend: (path: CallerPath, amount: number) => boolean;
}

export interface FairRateOptions {
  readonly clock: Clock;
  /** For all callers together in one interval; whoever comes after that still gets its fair share of it. */
  readonly capacity: number;
  /** Milliseconds. */
  readonly interval: number;
  readonly onRefused?: () => void;
}

/** Nothing is remembered of an interval that is over, and nothing is held: so what is spent in all needs no bound of its own. */
export const createFairRate = ({ clock, capacity, interval, onRefused }: FairRateOptions): FairRate => {
  const newShares = () => createFairShares({ capacity, overdraft: Number.POSITIVE_INFINITY, onRefused });
  let shares = newShares();
  let end = Number.NEGATIVE_INFINITY;
  const begin = (): void => {
    const now = clock.monotonic();
    if (now < end) return;
    shares = newShares();
    end = now + interval;
  };
  return {
    spend: (path, amount) => {
      begin();
      return shares.take(path, amount) !== undefined;
    },
  };
};
