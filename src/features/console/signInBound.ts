/** How many sign-ins to the console may fail from one address (console §2.7). Times are Unix ms. */

const MOST_FAILURES = 10;
const WINDOW_MS = 60_000;
/** How far the log is told of failures of one address. */
const TOLD_APART_MS = 60_000;

const within = (failures: readonly number[], now: number): readonly number[] => failures.filter((time) => time > now - WINDOW_MS);

/** Whole seconds until the next sign-in is tried, 1 to 60; undefined: at once. */
export const retryAfter = (failures: readonly number[], now: number): number | undefined => {
  const counted = within(failures, now);
  if (counted.length < MOST_FAILURES) return undefined;
  const free = (counted.at(-MOST_FAILURES) ?? now) + WINDOW_MS;
  return Math.max(1, Math.min(Math.ceil((free - now) / 1_000), WINDOW_MS / 1_000));
};

/** The failures that count from now on, with one at `now`: no more than decide. */
export const withFailure = (failures: readonly number[], now: number): readonly number[] =>
  [...within(failures, now), now].sort((a, b) => a - b).slice(-MOST_FAILURES);

/** Whether the audit log is told of a failure, having been told of the last one at `toldAt`. */
export const isTold = (toldAt: number | undefined, now: number): boolean => toldAt === undefined || Math.abs(now - toldAt) >= TOLD_APART_MS;
