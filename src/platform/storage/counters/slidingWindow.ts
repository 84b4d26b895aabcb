/** The sliding window of two fixed windows (ratelimit §3). Times and durations are whole milliseconds. */

/** Number of the fixed window that `now` is in; windows are aligned to the Unix epoch. */
export const windowAt = (now: number, duration: number): number => Math.floor(now / duration);

/** End of the current fixed window, Unix ms. */
export const windowEnd = (now: number, duration: number): number => (windowAt(now, duration) + 1) * duration;

/** The last moment that a date can hold: keys may have windows longer than that (keys §1.6). */
const LAST_DATE = 8_640_000_000_000_000;

/** When a counter of window `seq` is of no more use: it weighs in the next one, and a node's clock may be behind. */
export const countsUntil = (seq: number, duration: number): Date => new Date(Math.min(LAST_DATE, (seq + 3) * duration));

/** The part of the previous window's count that still weighs at `now`: trunc(previous × (1 − elapsed fraction)). */
export const weightedPrevious = (previous: number, now: number, duration: number): number => {
  if (previous === 0) return 0;
  const left = (windowAt(now, duration) + 1) * duration - now;
  // In whole numbers: a fraction would lose a unit where the product is one, 10 × (1 − 0.8) for example.
  const product = previous * left;
  if (Number.isSafeInteger(product)) return Math.floor(product / duration);
  return Number((BigInt(previous) * BigInt(left)) / BigInt(duration));
};

/**
 * The first moment from `now` until `horizon` at which at most `most` (0 or more) is used, if nothing is used meanwhile:
 * counts only lose weight. Undefined when that comes later.
 */
export const roomFrom = (
  current: number,
  previous: number,
  most: number,
  now: number,
  duration: number,
  horizon: number,
): number | undefined => {
  const window = windowAt(now, duration);
  const hasRoom = (time: number): boolean => {
    const later = windowAt(time, duration) - window;
    if (later === 0) return current + weightedPrevious(previous, time, duration) <= most;
    return later > 1 || weightedPrevious(current, time, duration) <= most;
  };
  if (hasRoom(now)) return now;
  if (now >= horizon || !hasRoom(horizon)) return undefined;
  let before = now;
  let from = horizon;
  while (from - before > 1) {
    const between = before + Math.floor((from - before) / 2);
    if (hasRoom(between)) from = between;
    else before = between;
  }
  return from;
};
