import type { JsonObject } from "@bufbuild/protobuf";
import { AnalyticsService } from "../../../../../gen/latchkey/v2/analytics_pb.ts";
import { compileOverrides } from "../../../../../src/features/ratelimit/overridePattern.ts";
import { windowEnd } from "../../../../../src/platform/storage/counters/slidingWindow.ts";
import { type Answer, type CallOptions, call } from "../../../data/calls/call.ts";
import type { CheckEvent } from "./replay.ts";

/** A check with the limit that judged it. */
export interface JudgedCheck extends CheckEvent {
  readonly limit: number;
  /** End of its window, Unix ms. */
  readonly reset: number;
}

/** Checks of the last hour. */
export interface LastHour {
  /** Ascending by time. */
  readonly events: readonly JudgedCheck[];
  /** There were more: these are the latest. */
  readonly cut: boolean;
}

const hour = 3_600_000;

/** Events that are read: an answer holds 4 MiB (analytics §2), and 20,000 of them are replayed while the slider moves. */
const most = 20_000;

/** The SQL that reads them, for one hour up to `now` (Unix ms). */
export const checksQuery = (namespaceId: string, now: number): string =>
  `SELECT time, identifier, tokens, passed, \`limit\`, reset_at FROM ratelimits_v1 WHERE namespace_id = '${namespaceId.replaceAll(/['\\]/g, "\\$&")}' AND time >= ${now - hour} ORDER BY time DESC LIMIT ${most}`;

const eventOf = ({ time, identifier, tokens, passed, limit, reset_at: reset }: JsonObject): JudgedCheck => ({
  time: Number(time),
  identifier: String(identifier),
  tokens: Number(tokens),
  passed: passed === true,
  limit: Number(limit),
  reset: Number(reset),
});

/** Reads the checks of a namespace in the last hour. It counts as one query of the quota. */
export const readLastHour = async (namespaceId: string, options: CallOptions): Promise<Answer<LastHour>> => {
  const { message } = await call(AnalyticsService.method.getRatelimits, { query: checksQuery(namespaceId, Date.now()) }, options);
  const events = message.data.map(eventOf).sort((one, other) => one.time - other.time);
  return { message: { events, cut: events.length === most }, etag: undefined };
};

/** Those whose identifier matches a pattern as overrides do; an empty one takes all. */
export const checksOf = (events: readonly JudgedCheck[], pattern: string): readonly JudgedCheck[] => {
  const { match } = compileOverrides([{ identifier: pattern === "" ? "*" : pattern }]);
  return events.filter(({ identifier }) => match(identifier) !== undefined);
};

/** The most frequent value. Undefined: there are no values. */
export const mostFrequent = (values: readonly number[]): number | undefined => {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0];
};

const second = 1000;
const minute = 60 * second;
const day = 24 * hour;

/** Lengths of windows that people choose. */
const usualLengths: readonly number[] = [
  ...[1, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 6, 12].map((count) => count * hour),
  ...[1, 7, 30].map((count) => count * day),
];

/**
 * How long the windows of checks were, ms, which no event says: the usual length whose windows end where most of the checks say
 * that theirs did, the shortest of equals.
 */
export const usualDuration = (events: readonly JudgedCheck[]): number => {
  const fits = (length: number): number => events.filter(({ time, reset }) => windowEnd(time, length) === reset).length;
  return usualLengths
    .map((length) => ({ length, fitting: fits(length) }))
    .reduce((best, each) => (each.fitting > best.fitting ? each : best), {
      length: minute,
      fitting: 0,
    }).length;
};
