import type { Clock } from "../../src/domain/clock.ts";

/** A clock that stands still until it is told otherwise. */
export interface TestClock extends Clock {
  /** Moves both times on. */
  readonly advance: (milliseconds: number) => void;
}

export const createTestClock = (now = 1_750_000_000_000): TestClock => {
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
