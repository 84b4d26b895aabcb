import type { Clock } from "../../platform/base/clock.ts";
import type { Limiter } from "./limiter.ts";

/**
 * The same limiter for callers who go by another clock than its own, which is that of the server that counts: their times are
 * translated, so that calls are judged in the window that the server is in.
 */
export const countByServerTime = (limiter: Limiter, callers: Clock): Limiter => ({
  ...limiter,
  check: (checks, now, behalf, isOwn) => limiter.check(checks, now + limiter.clock.now() - callers.now(), behalf, isOwn),
});
