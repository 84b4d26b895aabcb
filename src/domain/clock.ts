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
