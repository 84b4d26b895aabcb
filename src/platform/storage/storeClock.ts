import type { Clock } from "../base/clock.ts";

/** One look at the server's clock. */
export interface ClockSample {
  /** What the server said, Unix ms. */
  readonly time: number;
  /** By this machine's monotonic time, in milliseconds: when it was asked, and when its answer was there. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** The time of the store, which all nodes have in common (DESIGN §9), whatever their own clocks say. */
export interface StoreClock extends Clock {
  /** Takes a look into account. */
  readonly learn: (sample: ClockSample) => void;
  /** How far `now` may lie behind the server's clock as it was last seen, in milliseconds; infinite before the first look. */
  readonly uncertainty: () => number;
}

/** Looks of which the most exact one counts. */
const REMEMBERED = 8;
/** How far the monotonic times of two machines drift apart, at most: 200 µs a second, far more than oscillators do. */
const DRIFT = 200e-6;
/** A server's time is in whole milliseconds, cut off. */
const RESOLUTION_MS = 1;
/** Time that has to be given back passes at this part of its speed: it never stands still, so what waits for it ends. */
const SLOWEST = 0.5;

/** The server's time at monotonic 0, as a look shows it. */
interface Estimate {
  /** The earliest that it can be. */
  readonly base: number;
  /** How much later it may be. */
  readonly range: number;
  readonly at: number;
}

const estimateOf = ({ time, askedAt, answeredAt }: ClockSample): Estimate => ({
  base: time - answeredAt,
  range: answeredAt - askedAt + RESOLUTION_MS,
  at: answeredAt,
});

const rangeAt = ({ range, at }: Estimate, now: number): number => range + DRIFT * Math.max(0, now - at);

/**
 * A clock that goes by another machine's, and is ahead of it by no more than the two drift apart between looks: a node that begins a window too early admits what still counts in
 * the one before, while one that is late only asks for less. The server's time at a look lies between question and answer; of the
 * last eight looks the one that leaves the smallest range counts, and monotonic time goes on from the earliest that it leaves. Looks that contradict
 * each other mean that something has jumped: the server's clock, the server (after a failover), or this machine's
 * monotonic time (while it was suspended); the newest is right then, those before it are forgotten.
 *
 * `now` never goes back. Where the server's time lies behind what was told, it passes at half its speed until both meet.
 * Before the first look it is the time of `local`.
 */
export const createStoreClock = (local: Clock): StoreClock => {
  let estimates: readonly Estimate[] = [];
  let best: Estimate | undefined;
  /** What `now` has to slow down from: told at `since` with this base. */
  let told = Number.NEGATIVE_INFINITY;
  let since = 0;

  const baseAt = (monotonic: number): number =>
    best === undefined ? local.now() - monotonic : Math.max(best.base, told - (monotonic - since) * SLOWEST);

  return {
    now: () => {
      const monotonic = local.monotonic();
      return Math.floor(baseAt(monotonic) + monotonic);
    },
    monotonic: local.monotonic,
    learn: (sample) => {
      const monotonic = local.monotonic();
      const newest = estimateOf(sample);
      const agree = (other: Estimate): boolean => {
        const drifted = rangeAt(other, newest.at) - other.range;
        return other.base - drifted <= newest.base + newest.range && newest.base <= other.base + other.range + drifted;
      };
      estimates = [...estimates.filter(agree), newest].slice(-REMEMBERED);
      told = best === undefined ? Number.NEGATIVE_INFINITY : baseAt(monotonic);
      since = monotonic;
      best = estimates.reduce((a, b) => (rangeAt(b, monotonic) <= rangeAt(a, monotonic) ? b : a));
    },
    uncertainty: () => (best === undefined ? Number.POSITIVE_INFINITY : rangeAt(best, local.monotonic())),
  };
};
