import type { Behalf } from "../../platform/base/behalf.ts";
import { ServiceError } from "../../platform/base/errors.ts";
import type { CheckResult, Limiter } from "../ratelimit/limiter.ts";

const HOUR_MS = 3_600_000;

/** What is left of the hour's quota. */
export interface QuotaLeft {
  readonly queries: number;
  readonly milliseconds: number;
  /** End of the current fixed window, Unix ms. */
  readonly reset: number;
}

/** What queries may use in an hour, all root keys and nodes together (analytics §2). */
export interface Quota {
  /** Counts a query; 429 `query_quota_exceeded` when the hour's queries or their time are used up. */
  readonly admit: (now: number) => Promise<void>;
  /** Counts the time that a query took. */
  readonly spend: (milliseconds: number, now: number) => Promise<void>;
  /** Counts nothing. While the store is away nothing limits queries: all is left, and `behalf` hears of it. */
  readonly left: (now: number, behalf: Behalf) => Promise<QuotaLeft>;
}

export interface QuotaOptions {
  readonly limiter: Limiter;
  readonly queriesPerHour: number;
  readonly secondsPerHour: number;
}

/** Counted like any other limit, in the store that nodes share. Lets queries through while that is away. */
export const createQuota = ({ limiter, queriesPerHour, secondsPerHour }: QuotaOptions): Quota => {
  const queries = { key: "analytics:queries", limit: queriesPerHour, duration: HOUR_MS };
  const time = { key: "analytics:time", limit: secondsPerHour * 1_000, duration: HOUR_MS };
  const leftOf = async (counter: typeof time, now: number, behalf?: Behalf): Promise<{ readonly left: number; readonly reset: number }> => {
    const { results, storeAway } = await limiter.check([{ ...counter, cost: 0 }], now, behalf, true);
    const { passed, remaining, reset } = results[0] as CheckResult;
    return { left: storeAway ? counter.limit : passed ? remaining : 0, reset };
  };
  return {
    admit: async (now) => {
      if ((await leftOf(time, now)).left <= 0) {
        throw new ServiceError("query_quota_exceeded", `Queries ran for ${secondsPerHour} s within an hour, which is the limit.`);
      }
      const { passed, storeAway } = await limiter.check([{ ...queries, cost: 1 }], now, undefined, true);
      if (!passed && !storeAway) {
        throw new ServiceError("query_quota_exceeded", `${queriesPerHour} queries ran within an hour, which is the limit.`);
      }
    },
    spend: async (milliseconds, now) => {
      const cost = Math.min(Math.max(1, Math.round(milliseconds)), (await leftOf(time, now)).left);
      if (cost > 0) await limiter.check([{ ...time, cost }], now, undefined, true);
    },
    left: async (now, behalf) => {
      const [ofQueries, ofTime] = await Promise.all([leftOf(queries, now, behalf), leftOf(time, now, behalf)]);
      return { queries: ofQueries.left, milliseconds: ofTime.left, reset: ofTime.reset };
    },
  };
};
