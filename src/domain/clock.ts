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
  readonly setTime: (now: number) => void;
}

export const createSettableClock = (): SettableClock => {
  let offset = 0;
  return {
    now: () => systemClock.now() + offset,
    monotonic: systemClock.monotonic,
    setTime: (now) => {
      offset = now - systemClock.now();
    },
  };
};
