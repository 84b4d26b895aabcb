/** The sliding window of two fixed windows (ratelimit §3). Times and durations are whole milliseconds. */

/** Number of the fixed window that `now` is in; windows are aligned to the Unix epoch. */
export const windowAt = (now: number, duration: number): number => Math.floor(now / duration);

/** End of the current fixed window, Unix ms. */
export const windowEnd = (now: number, duration: number): number => (windowAt(now, duration) + 1) * duration;

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
 * The first moment ≥ `now` within the current window at which `cost` would pass beside `current` and the decaying
 * `previous`, or the end of the window when it never does.
 */
export const earliestPass = (
  { current, previous }: { readonly current: number; readonly previous: number },
  { limit, duration, cost }: { readonly limit: number; readonly duration: number; readonly cost: number },
  now: number,
): number => {
  const end = windowEnd(now, duration);
  // The largest weighted previous that leaves room; trunc(p·(1−e)) ≤ room as soon as p·(1−e) < room + 1.
  const room = limit - current - cost;
  if (room < 0) return end;
  // A fraction may be a millisecond off: too early costs one question to the store, too late would be a wrong denial.
  const elapsed = Math.floor((1 - (room + 1) / previous) * duration) - 1;
  return Math.min(end, Math.max(now, end - duration + elapsed));
};
