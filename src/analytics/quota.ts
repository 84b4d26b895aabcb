import { ServiceError } from "../domain/errors.ts";
import type { CheckResult, Limiter } from "../ratelimit/limiter.ts";

const HOUR_MS = 3_600_000;

/** What queries may use in an hour, all root keys and nodes together (analytics §2). */
export interface Quota {
  /** Counts a query; 429 `query_quota_exceeded` when the hour's queries or their time are used up. */
  readonly admit: (now: number) => Promise<void>;
  /** Counts the time that a query took. */
  readonly spend: (milliseconds: number, now: number) => Promise<void>;
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
  const timeLeft = async (now: number): Promise<number> => {
    const { results, storeAway } = await limiter.check([{ ...time, cost: 0 }], now);
    const { passed, remaining } = results[0] as CheckResult;
    return storeAway ? time.limit : passed ? remaining : 0;
  };
  return {
    admit: async (now) => {
      if ((await timeLeft(now)) <= 0) {
        throw new ServiceError("query_quota_exceeded", `Queries ran for ${secondsPerHour} s within an hour, which is the limit.`);
      }
      const { passed, storeAway } = await limiter.check([{ ...queries, cost: 1 }], now);
      if (!passed && !storeAway) {
        throw new ServiceError("query_quota_exceeded", `${queriesPerHour} queries ran within an hour, which is the limit.`);
      }
    },
    spend: async (milliseconds, now) => {
      const cost = Math.min(Math.max(1, Math.round(milliseconds)), await timeLeft(now));
      if (cost > 0) await limiter.check([{ ...time, cost }], now);
    },
  };
};
