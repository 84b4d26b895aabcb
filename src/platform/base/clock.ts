/**
 * The only source of time. `now` is the wall clock that the contract speaks of; `monotonic` never jumps and
 * measures ages, idle time and deadlines. Both in milliseconds.
 */
export interface Clock {
  /** Unix time in whole milliseconds. */
  readonly now: () => number;
  /** Milliseconds since an arbitrary origin, never going back; may have a fraction. */
  readonly monotonic: () => number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** A clock whose wall time can be set; it goes on from there. The monotonic time stays that of the system. */
export interface SettableClock extends Clock {
  /** @param now Unix ms; may lie before the present time. */
  readonly setTime: (now: number) => void;
  /** How often it was set to an earlier time. */
  readonly timesSetBack: () => number;
}

export const createSettableClock = (): SettableClock => {
  let offset = 0;
  let setBack = 0;
  const now = (): number => systemClock.now() + offset;
  return {
    now,
    monotonic: systemClock.monotonic,
    setTime: (time) => {
      if (time < now()) setBack++;
      offset = time - systemClock.now();
    },
    timesSetBack: () => setBack,
  };
};

/** The earlier one of a clock and the system's: what has passed by it has passed by both. */
export const notAheadOfSystem = (clock: Clock): Clock => ({
  now: () => Math.min(clock.now(), systemClock.now()),
  monotonic: clock.monotonic,
});
