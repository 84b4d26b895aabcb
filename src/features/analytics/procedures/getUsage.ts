import {
  GetUsageRequestSchema,
  type GetUsageResponseSchema,
  UsageGranularity,
  UsageOrder,
} from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { fieldDefault, integerOrDefault } from "../../../platform/rpc/description/fieldDefault.ts";
import type { Procedure } from "../../calls/call.ts";
import type { Granularity, UsageField, UsageQuestion } from "../usage/question.ts";
import { readFilter, readKind } from "./readKind.ts";
import type { AnalyticsDeps } from "./readScope.ts";

const granularities: Readonly<Partial<Record<UsageGranularity, Granularity>>> = {
  [UsageGranularity.MINUTE]: "minute",
  [UsageGranularity.HOUR]: "hour",
  [UsageGranularity.DAY]: "day",
  [UsageGranularity.MONTH]: "month",
};

const orders: Readonly<Partial<Record<UsageOrder, UsageQuestion["orderBy"]>>> = {
  [UsageOrder.TIME]: "time",
  [UsageOrder.COUNT]: "count",
};

/**
 * Counts events by time and group, without SQL (management §6): a row for each group and interval, in Unix ms, also for intervals
 * without events. Not counted in the quota of queries. 400 when `start` lies before the retention (analytics §3) or the answer would
 * have more than 10,000 rows; 403, 412, 422 and 503 as queries (analytics §2).
 */
export const getUsage =
  (deps: AnalyticsDeps): Procedure<typeof GetUsageRequestSchema, typeof GetUsageResponseSchema> =>
  async (request, call) => {
    const { kind, start = 0n, end = 0n, granularity, groupBy, filter, orderBy, limit } = request;
    const { analytics, scope, name } = readKind(deps, kind, call);
    const question: UsageQuestion = {
      kind: name,
      start: Number(start),
      end: Number(end),
      granularity: granularities[granularity] ?? "total",
      // Validation has left none that events of this kind do not have.
      groupBy: [...new Set(groupBy)] as UsageField[],
      filter: readFilter(filter),
      orderBy: orders[orderBy] ?? (fieldDefault(GetUsageRequestSchema.field.orderBy) as UsageQuestion["orderBy"]),
      limit: integerOrDefault(GetUsageRequestSchema.field.limit, limit),
    };
    return { data: await analytics.usage({ question, scope, now: call.receivedAt, signal: call.signal }) };
  };
