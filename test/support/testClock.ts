import type { Clock } from "../../src/platform/base/clock.ts";

/** A clock that is stopped, and moves only when a test sets it. */
export interface TestClock extends Clock {
  /** Moves both times on. */
  readonly advance: (milliseconds: number) => void;
}

/** In 2053: stores remove by their own time what has expired, and would do so under the hands of a test whose time is past. */
const START = 2_633_612_800_000;

export const createTestClock = (now: number = START): TestClock => {
  let wall = now;
  let monotonic = 1_000;
  return {
    now: () => wall,
    monotonic: () => monotonic,
    advance: (milliseconds) => {
      wall += milliseconds;
      monotonic += milliseconds;
    },
  };
};
