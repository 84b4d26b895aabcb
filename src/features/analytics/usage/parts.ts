import { invalidInput, type Violation } from "../../../platform/base/errors.ts";
import { type Dataset, keptSince } from "../tables/schema.ts";
import { bucketStart } from "./buckets.ts";
import { type Granularity, type UsageQuestion, usageKinds } from "./question.ts";

/** A part of the range, and the table that answers for it. Unix ms, `until` exclusive. */
export interface Part {
  readonly step: "raw" | "hour" | "day" | "month";
  readonly since: number;
  readonly until: number;
}

type Range = Pick<UsageQuestion, "start" | "end">;

/** Of the interval behind the one in which a time lies. */
const startOfNext = (step: "hour" | "day" | "month", time: number): number => {
  const date = new Date(time);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (step === "month") return Date.UTC(year, month + 1);
  return step === "day" ? Date.UTC(year, month, day + 1) : Date.UTC(year, month, day, date.getUTCHours() + 1);
};

/** Which tables answer for a range: for each time the one with the shortest intervals in which it is still kept. */
const findParts = ({ start, end }: Range, dataset: Dataset, now: number): Part[] => {
  // The coarser table answers for whole intervals of its own; where all of the range is kept, it begins where it begins.
  const firstOf = (table: "raw" | "hour" | "day", coarser: "hour" | "day" | "month"): number => {
    const kept = keptSince(dataset, table, now);
    return start >= kept ? start : startOfNext(coarser, kept);
  };
  const isHourKeptLonger = keptSince(dataset, "hour", now) < keptSince(dataset, "raw", now);
  const firstRaw = firstOf("raw", isHourKeptLonger ? "hour" : "day");
  const firstHour = isHourKeptLonger ? Math.min(firstOf("hour", "day"), firstRaw) : firstRaw;
  const firstDay = Math.min(firstOf("day", "month"), firstHour);
  const parts: Part[] = [
    { step: "month", since: start, until: Math.min(end, firstDay) },
    { step: "day", since: Math.max(start, firstDay), until: Math.min(end, firstHour) },
    { step: "hour", since: Math.max(start, firstHour), until: Math.min(end, firstRaw) },
    { step: "raw", since: Math.max(start, firstRaw), until: end },
  ];
  return parts.filter(({ since, until }) => since < until);
};

const order: readonly (Granularity | "raw")[] = ["raw", "minute", "hour", "day", "month", "total"];

/**
 * The tables that answer a question, oldest part first. 400 where older events are kept as sums only, and an interval of the answer,
 * or the piece of one at an end of the range, would be shorter than what they are sums of: nothing is told that nobody knows.
 */
export const partsOf = (question: UsageQuestion, now: number): readonly Part[] => {
  const { start, end, granularity } = question;
  const parts = findParts(question, usageKinds[question.kind].dataset, now);
  const [first] = parts;
  const last = parts.at(-1);
  if (first === undefined || last === undefined || first.step === "raw") return parts;
  const finest = parts.find(({ step }) => step === "raw")?.since;
  const where = finest === undefined ? "in this range" : `before ${new Date(finest).toISOString()}`;
  const said = `${where} events are kept as sums per ${first.step} only`;
  const violations: Violation[] = [];
  if (order.indexOf(granularity) < order.indexOf(first.step)) {
    violations.push({ location: "body.granularity", message: `${said}: the granularity ${first.step} fits` });
  }
  if (bucketStart(start, first.step) !== start) {
    violations.push({ location: "body.start", message: `${said}: want the start of a ${first.step} in UTC` });
  }
  if (last.step !== "raw" && bucketStart(end, last.step) !== end) {
    violations.push({ location: "body.end", message: `${said}: want the start of a ${last.step} in UTC` });
  }
  if (violations.length === 0) return parts;
  throw invalidInput(violations.map(({ location, message }) => `${location}: ${message}`).join("; "), violations);
};
