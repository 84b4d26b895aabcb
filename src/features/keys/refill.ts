/** When credits are refilled (keys §1.9). All times are Unix milliseconds, UTC. */

/** A refill as it is stored: `amount` credits every day at 00:00, or every month at 00:00 on `refillDay`. */
export interface RefillSchedule {
  readonly interval: "daily" | "monthly";
  readonly amount: number;
  /** 1–31; the last day of a month that is shorter. Only for monthly refills. */
  readonly refillDay?: number;
}

/** Balances end here (protocol §4). */
export const MAX_CREDITS: number = Number.MAX_SAFE_INTEGER;

const DAY_MS = 86_400_000;

/** Scheduled instants are numbered; `count` of them lie in a span, the last one at `last`. */
export interface DueInstants {
  readonly count: number;
  readonly last: number;
}

/** The instant of a month that is counted from year 0: 12 × year + month. */
const instantOfMonth = (month: number, refillDay: number): number => {
  const year = Math.floor(month / 12);
  const date = new Date(0);
  date.setUTCFullYear(year, month % 12, 1);
  const lastDay = new Date(date);
  lastDay.setUTCFullYear(year, (month % 12) + 1, 0);
  return date.getTime() + (Math.min(refillDay, lastDay.getUTCDate()) - 1) * DAY_MS;
};

/** Number of the last instant at or before `time`. */
const instantNumber = ({ interval, refillDay = 1 }: RefillSchedule, time: number): number => {
  if (interval === "daily") return Math.floor(time / DAY_MS);
  const date = new Date(time);
  const month = date.getUTCFullYear() * 12 + date.getUTCMonth();
  return time >= instantOfMonth(month, refillDay) ? month : month - 1;
};

/** When the instant of this number is; NaN beyond what a date can hold. */
const instantOf = ({ interval, refillDay = 1 }: RefillSchedule, number: number): number =>
  interval === "daily" ? number * DAY_MS : instantOfMonth(number, refillDay);

/** The `count`-th (1 or more) scheduled instant after `time`; NaN beyond what a date can hold. */
export const instantAfter = (schedule: RefillSchedule, time: number, count = 1): number =>
  instantOf(schedule, instantNumber(schedule, time) + count);

/** The scheduled instants after `mark` (the last one that the balance contains) up to and including `now`. */
export const dueInstants = (schedule: RefillSchedule, mark: number, now: number): DueInstants => {
  const number = instantNumber(schedule, now);
  const count = Math.max(0, number - instantNumber(schedule, mark));
  if (count === 0) return { count, last: mark };
  return { count, last: instantOf(schedule, number) };
};

/** What a key's balance depends on beside spending. */
export interface Refillable {
  /** Undefined = unlimited. */
  readonly remaining?: number | undefined;
  readonly refill?: RefillSchedule | undefined;
  /** The last instant that `remaining` contains. */
  readonly refilledAt?: number | undefined;
}

/** A balance with the due instants brought in. */
export interface Refilled {
  readonly remaining: number;
  readonly refilledAt: number;
  readonly count: number;
}

/**
 * The balance with every instant brought in that is due at `now`: `remaining + count × amount`, at most 2^53-1. The
 * amount is added, whatever the balance was. Undefined when nothing is due, or there is no balance or no refill.
 */
export const bringInRefills = ({ remaining, refill, refilledAt }: Refillable, now: number): Refilled | undefined => {
  if (remaining === undefined || refill === undefined || refilledAt === undefined) return undefined;
  const { count, last } = dueInstants(refill, refilledAt, now);
  if (count === 0) return undefined;
  const added = count * refill.amount;
  return { remaining: added >= MAX_CREDITS - remaining ? MAX_CREDITS : remaining + added, refilledAt: last, count };
};

/** The balance with the refills that are due since it was read; undefined = unlimited. */
export const balanceAt = (key: Refillable, now: number): number | undefined => bringInRefills(key, now)?.remaining ?? key.remaining;
