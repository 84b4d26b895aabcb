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
  /** What counts against a limit: `current`, and as much of `previous` as still weighs. */
  readonly used: number;
  /** Part of the present window that has passed, 0 to below 1. */
  readonly elapsed: number;
}

/** What a listed counter has become by `now`: windows that ended meanwhile have moved on, as nothing was used since. */
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
