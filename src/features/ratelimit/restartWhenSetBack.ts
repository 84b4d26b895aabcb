import { randomUUID } from "node:crypto";
import type { SettableClock } from "../../platform/base/clock.ts";
import type { Check } from "./check.ts";
import type { Limiter } from "./limiter.ts";

/**
 * The same limiter under a clock that tests turn: each time it is set back, every limit begins anew. What was counted
 * in windows that are yet to come would else stand in the way until they have come and gone.
 */
export const restartWhenSetBack = (limiter: Limiter, clock: SettableClock): Limiter => {
  // Counters are kept in the store, and another start counts from zero again.
  const start = randomUUID();
  const keyPrefix = (): string => {
    const times = clock.timesSetBack();
    return times === 0 ? "" : `${start}:${times}#`;
  };
  const underPrefix = (checks: readonly Check[]): readonly Check[] => {
    const prefix = keyPrefix();
    return prefix === "" ? checks : checks.map((check) => ({ ...check, key: prefix + check.key }));
  };
  return {
    ...limiter,
    keyPrefix,
    check: (checks, now, behalf, isOwn) => limiter.check(underPrefix(checks), now, behalf, isOwn),
    peek: (checks, behalf) => limiter.peek(underPrefix(checks), behalf),
  };
};
