import type { Clock } from "../../platform/base/clock.ts";

const REPORT_EVERY_MS = 60_000;

/** Tells of dropped events at most once a minute. */
export interface DropReport {
  readonly add: (count: number, cause: unknown) => void;
  /** Tells, when there is something to tell and it is time; with `now`, at once. */
  readonly report: (now?: boolean) => void;
}

export const createDropReport = (clock: Clock, tell: (count: number, cause: unknown) => void): DropReport => {
  let count = 0;
  let lastCause: unknown;
  let toldAt = Number.NEGATIVE_INFINITY;
  return {
    add: (more, cause) => {
      count += more;
      lastCause = cause ?? lastCause;
    },
    report: (now = false) => {
      if (count === 0 || (!now && clock.monotonic() - toldAt < REPORT_EVERY_MS)) return;
      tell(count, lastCause);
      toldAt = clock.monotonic();
      count = 0;
      lastCause = undefined;
    },
  };
};
