import { ServiceError } from "../../platform/base/errors.ts";
import type { IncomingCall } from "../../platform/rpc/incomingCall.ts";
import type { CheckResult, Limiter } from "../ratelimit/limiter.ts";

const MINUTE_MS = 60_000;
/** One workspace, one counter for all root keys. */
const COUNTER_KEY = "management";

/**
 * Counts an authenticated call of the workspace; 429 `workspace_rate_limited` beyond the limit (protocol §8). When the
 * store that counts is away, calls go through, and their answers say so.
 */
export type ManagementLimit = (call: IncomingCall) => Promise<void>;

/** @param perMinute calls of all root keys together; 0 refuses everything. */
export const createManagementLimit = (limiter: Limiter, perMinute: number): ManagementLimit => {
  return async (call) => {
    const { results, storeAway } = await limiter.check(
      [{ key: COUNTER_KEY, limit: perMinute, duration: MINUTE_MS, cost: 1 }],
      call.receivedAt,
      call,
      true,
    );
    const { passed, remaining, reset } = results[0] as CheckResult;
    const seconds = String(Math.max(1, Math.ceil((reset - call.receivedAt) / 1_000)));
    call.setHeader("RateLimit-Limit", String(perMinute));
    call.setHeader("RateLimit-Remaining", String(remaining));
    call.setHeader("RateLimit-Reset", seconds);
    if (passed || storeAway) return;
    call.setHeader("Retry-After", seconds);
    throw new ServiceError("workspace_rate_limited", `More than ${perMinute} calls in this minute. Try again in ${seconds} s.`);
  };
};
