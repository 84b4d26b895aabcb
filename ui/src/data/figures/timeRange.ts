import { UsageGranularity } from "../../../../gen/latchkey/v2/analytics_pb.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** A time range by name, as the query has it: `range=24h`. */
export interface NamedRange {
  readonly value: string;
  readonly label: string;
  readonly length: number;
  readonly granularity: UsageGranularity;
  /** Length of its intervals, ms. */
  readonly step: number;
}

export const namedRanges: readonly [NamedRange, ...NamedRange[]] = [
  { value: "24h", label: "24 hours", length: day, granularity: UsageGranularity.HOUR, step: hour },
  { value: "1h", label: "1 hour", length: hour, granularity: UsageGranularity.MINUTE, step: minute },
  { value: "7d", label: "7 days", length: 7 * day, granularity: UsageGranularity.HOUR, step: hour },
  { value: "30d", label: "30 days", length: 30 * day, granularity: UsageGranularity.DAY, step: day },
];

/** Length of an interval, ms. @returns undefined for months, which differ, and for the whole range */
export const intervalLength = (granularity: UsageGranularity): number | undefined =>
  ({ [UsageGranularity.MINUTE]: minute, [UsageGranularity.HOUR]: hour, [UsageGranularity.DAY]: day })[granularity as number];

/** The range and granularity of a call of `analytics.getUsage`. */
export interface TimeRange {
  /** Unix ms, inclusive. */
  readonly start: bigint;
  /** Unix ms, exclusive. */
  readonly end: bigint;
  readonly granularity: UsageGranularity;
}

/** The finest granularity that keeps a range below 750 intervals, so that several lines stay within 10 000 cells (management §6). */
const granularityOf = (length: number): UsageGranularity => {
  if (length <= 12 * hour) return UsageGranularity.MINUTE;
  return length <= 30 * day ? UsageGranularity.HOUR : UsageGranularity.DAY;
};

const readTime = (text: string | null): number | undefined => (text !== null && /^\d{1,13}$/.test(text) ? Number(text) : undefined);

/**
 * The range of a query: `start` and `end` in Unix ms, as brushing a chart sets them, or `range` by its name, up to now.
 * @param now Unix ms
 */
export const readRange = (query: URLSearchParams, now: number): TimeRange => {
  const [start, end] = [readTime(query.get("start")), readTime(query.get("end"))];
  if (start !== undefined && end !== undefined && start < end) {
    return { start: BigInt(start), end: BigInt(end), granularity: granularityOf(end - start) };
  }
  const { length, granularity, step } = namedRanges.find(({ value }) => value === query.get("range")) ?? namedRanges[0];
  const upTo = (Math.floor(now / step) + 1) * step;
  return { start: BigInt(upTo - length), end: BigInt(upTo), granularity };
};
