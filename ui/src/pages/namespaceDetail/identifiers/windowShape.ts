import { weightedPrevious, windowEnd } from "../../../../../src/platform/storage/counters/slidingWindow.ts";

/** A counter as the service listed it, in numbers. */
export interface ListedWindow {
  /** Milliseconds. */
  readonly duration: number;
  /** Used in the present window, and in the whole one before. */
  readonly current: number;
  readonly previous: number;
  /** End of the present window, Unix ms. */
  readonly reset: number;
}

/** A counter at a moment. */
export interface WindowShape {
  readonly current: number;
  readonly previous: number;
  /** The use that counts against a limit: `current`, and `previous` by its remaining weight. */
  readonly used: number;
  /** Part of the present window that has passed, 0 to below 1. */
  readonly elapsed: number;
}

/** Computes the windows of a listed counter at `now`. Windows that have ended since move on, because nothing was used since. */
export const windowShape = ({ duration, current, previous, reset }: ListedWindow, now: number): WindowShape => {
  // A clock that lags behind the service's shows the beginning of the window.
  const time = Math.max(now, reset - duration);
  const moved = Math.round((windowEnd(time, duration) - reset) / duration);
  const shifted = moved === 0 ? { current, previous } : { current: 0, previous: moved === 1 ? current : 0 };
  return {
    ...shifted,
    used: shifted.current + weightedPrevious(shifted.previous, time, duration),
    elapsed: (time % duration) / duration,
  };
};
