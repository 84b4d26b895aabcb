import { AnalyticsService, UsageGranularity, UsageKind, UsageOrder } from "../../../../../gen/latchkey/v2/analytics_pb.ts";
import { RatelimitService } from "../../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { type Answer, type CallOptions, call } from "../../../data/calls/call.ts";
import type { Query } from "../../../data/hooks/useLoad.ts";

/** Identifiers that were checked recently, as far as they are read. */
export type SeenIdentifiers = Pick<Query<readonly string[]>, "data" | "error">;

const day = 86_400_000;

const fromEvents = async (namespaceId: string, options: CallOptions): Promise<readonly string[]> => {
  const now = Date.now();
  const request = {
    kind: UsageKind.RATELIMITS,
    start: BigInt(now - day),
    end: BigInt(now),
    granularity: UsageGranularity.TOTAL,
    groupBy: ["identifier"],
    filter: { namespaceId: { values: [namespaceId] } },
    orderBy: UsageOrder.COUNT,
    limit: 1000n,
  };
  const { message } = await call(AnalyticsService.method.getUsage, request, options);
  return message.data.flatMap(({ identifier, other }) => (typeof identifier === "string" && other !== true ? [identifier] : []));
};

const fromCounters = async (namespace: string, options: CallOptions): Promise<readonly string[]> => {
  const { message } = await call(RatelimitService.method.listCounters, { namespace, limit: 100n }, options);
  return message.data.map(({ identifier }) => identifier);
};

/**
 * Identifiers that were checked lately, the busiest of the last 24 hours first, for a preview: up to 1,000 of analytics and 100 that
 * count now. A source that is off or forbidden gives none.
 * @throws {CallError} of such a source where the other gives none either
 */
export const seenIdentifiers = async (namespaceId: string, options: CallOptions): Promise<Answer<readonly string[]>> => {
  const sources = await Promise.allSettled([fromEvents(namespaceId, options), fromCounters(namespaceId, options)]);
  const found = [...new Set(sources.flatMap((each) => (each.status === "fulfilled" ? each.value : [])))];
  const failed = sources.find((each) => each.status === "rejected");
  if (found.length === 0 && failed !== undefined) throw failed.reason;
  return { message: found, etag: undefined };
};
