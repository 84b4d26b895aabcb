import { type Clock, systemClock } from "../../src/platform/base/clock.ts";

/** The real clock, which a test can move on. */
export interface ShiftedClock extends Clock {
  readonly shift: (milliseconds: number) => void;
}

export const createShiftedClock = (): ShiftedClock => {
  let ahead = 0;
  return {
    now: () => systemClock.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
    shift: (milliseconds) => {
      ahead += milliseconds;
    },
  };
};
