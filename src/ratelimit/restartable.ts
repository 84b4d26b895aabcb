import { randomUUID } from "node:crypto";
import type { SettableClock } from "../domain/clock.ts";
import type { Limiter } from "./limiter.ts";

/**
 * The same limiter under a clock that tests turn: each time it is set back, every limit begins anew. What was counted
 * in windows that are yet to come would else stand in the way until they have come and gone.
 */
export const restartWhenSetBack = (limiter: Limiter, clock: SettableClock): Limiter => {
  // Counters are kept in the store, and another start counts from zero again.
  const start = randomUUID();
  return {
    ...limiter,
    check: (checks, now, behalf) => {
      const times = clock.timesSetBack();
      if (times === 0) return limiter.check(checks, now, behalf);
      return limiter.check(
        checks.map((check) => ({ ...check, key: `${check.key}#${start}:${times}` })),
        now,
        behalf,
      );
    },
  };
};
