import type { Clock } from "./clock.ts";
import { type CallerPath, createFairShares } from "./fairShares.ts";

/** What callers may use up in each interval, shared fairly between them (`createFairShares`). */
export interface FairRate {
  /** Takes `amount` of this interval, or says that the caller has had its share. */
  readonly spend: (path: CallerPath, amount: number) => boolean;
}

export interface FairRateOptions {
  readonly clock: Clock;
  /** For all callers together in one interval; callers that had little get as much again in all. */
  readonly capacity: number;
  /** Milliseconds. */
  readonly interval: number;
  readonly onRefused?: () => void;
}

/** Nothing is remembered of an interval that is over. */
export const createFairRate = ({ clock, capacity, interval, onRefused }: FairRateOptions): FairRate => {
  const fresh = () => createFairShares({ capacity, onRefused });
  let shares = fresh();
  let end = Number.NEGATIVE_INFINITY;
  return {
    spend: (path, amount) => {
      const now = clock.monotonic();
      if (now >= end) {
        shares = fresh();
        end = now + interval;
      }
      return shares.take(path, amount) !== undefined;
    },
  };
};
