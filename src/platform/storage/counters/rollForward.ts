import type { SharedCounter } from "./sharedCounter.ts";
import { windowAt } from "./slidingWindow.ts";

/** A window that begins so much later than now was not counted by a node with a sane clock. */
const CLOCK_ERROR_MS = 60_000;

/** A shared counter as of one moment. */
export interface RolledForward {
  /** The counts of the window that `now` is in, whether or not the store has the counter in that window. */
  readonly state: SharedCounter;
  /** Unix ms. */
  readonly now: number;
}

/**
 * The shared counter as it is at `now`, and the time that this means: rolled forward to the current window if nobody has
 * charged that yet, and as it stands if another node's clock is ahead. What a clock counted that was set back since
 * belongs to the window that it is now: else the counter would stand still until that time comes.
 *
 * @param shared what the store has; null: nobody has charged it
 */
export const rollForward = (shared: SharedCounter | null, duration: number, now: number): RolledForward => {
  const seq = windowAt(now, duration);
  if (shared === null || shared.seq < seq - 1) return { state: { seq, current: 0, previous: 0 }, now };
  if (shared.seq === seq - 1) return { state: { seq, current: 0, previous: shared.current }, now };
  const start = shared.seq * duration;
  if (start - now > CLOCK_ERROR_MS) return { state: { seq, current: shared.current + shared.previous, previous: 0 }, now };
  return { state: shared, now: Math.max(now, start) };
};
