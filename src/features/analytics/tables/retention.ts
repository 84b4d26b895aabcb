import { ServiceError } from "../../../platform/base/errors.ts";

const DAY_MS = 86_400_000;
/** Callers compute "exactly 30 days ago" before we do. */
const BOUND_TOLERANCE_MS = 5_000;

/** Unix ms of the earliest event that may be asked for. */
export const earliestTime = (now: number, retentionDays: number): number => now - retentionDays * DAY_MS;

/** 400 `query_range_exceeds_retention` for a lower bound (Unix ms) that reaches back too far (analytics §3). */
export const requireRetained = (bound: number, now: number, retentionDays: number): void => {
  const earliest = earliestTime(now, retentionDays);
  if (bound >= earliest - BOUND_TOLERANCE_MS) return;
  throw new ServiceError(
    "query_range_exceeds_retention",
    `Queries reach back ${retentionDays} days: the earliest time is ${new Date(earliest).toISOString()}.`,
  );
};
