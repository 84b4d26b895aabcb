import type { Granularity, UsageQuestion } from "./question.ts";

/** From fine to coarse. */
const granularities: readonly Granularity[] = ["minute", "hour", "day", "month", "total"];

const lengths = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

type Range = Pick<UsageQuestion, "start" | "end">;

const monthOf = (time: number): number => {
  const date = new Date(time);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
};

/** How many intervals, aligned to UTC, a range touches (management §8). */
export const countBuckets = ({ start, end }: Range, granularity: Granularity): number => {
  if (granularity === "total") return 1;
  if (granularity === "month") return monthOf(end - 1) - monthOf(start) + 1;
  return Math.ceil(end / lengths[granularity]) - Math.floor(start / lengths[granularity]);
};

/** The start of the interval that a time lies in, Unix ms. */
export const bucketStart = (time: number, granularity: "hour" | "day" | "month"): number => {
  if (granularity === "month") return Date.UTC(Math.floor(monthOf(time) / 12), monthOf(time) % 12);
  return Math.floor(time / lengths[granularity]) * lengths[granularity];
};

/** Their starts in Unix ms, ascending; of `total` 0, which stands for the whole range. */
export const listBuckets = (range: Range, granularity: Granularity): number[] => {
  if (granularity === "total") return [0];
  const count = countBuckets(range, granularity);
  if (granularity === "month") {
    const first = monthOf(range.start);
    return Array.from({ length: count }, (_, i) => Date.UTC(Math.floor((first + i) / 12), (first + i) % 12));
  }
  const length = lengths[granularity];
  const first = Math.floor(range.start / length);
  return Array.from({ length: count }, (_, i) => (first + i) * length);
};

/** The start of the interval that a time lies in, in SQL. @param ms an expression for Unix ms. */
export const bucketExpression = (ms: string, granularity: Granularity): string => {
  if (granularity === "total") return "0";
  if (granularity === "month") return `toInt64(toStartOfMonth(toDate(intDiv(${ms}, ${lengths.day})))) * ${lengths.day}`;
  return `intDiv(${ms}, ${lengths[granularity]}) * ${lengths[granularity]}`;
};

/** The finest granularity, coarser than the present one, with which a range has at most so many cells. */
export const fittingGranularity = (range: UsageQuestion, groups: number, most: number): Granularity | undefined =>
  granularities
    .slice(granularities.indexOf(range.granularity) + 1)
    .find((granularity) => countBuckets(range, granularity) * groups <= most);
