import type { GetQuotaRequestSchema, GetQuotaResponseSchema } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { requireAnyOf } from "../../../platform/authorization/authorization.ts";
import type { Procedure } from "../../calls/call.ts";
import { type AnalyticsDeps, requireAnalytics } from "./readScope.ts";

/**
 * What is left of the hour's quota of SQL queries, of all root keys and nodes together; asking costs nothing of it. A part
 * of a second is told as one: 0 exactly when queries are refused. 403 without any `read_analytics` grant, then 412
 * without a store (management §6).
 */
export const getQuota =
  (deps: AnalyticsDeps): Procedure<typeof GetQuotaRequestSchema, typeof GetQuotaResponseSchema> =>
  async (_request, call) => {
    requireAnyOf(call.caller, ["api.read_analytics", "ratelimit.read_analytics"]);
    const { queries, milliseconds, reset } = await requireAnalytics(deps).quotaLeft(call.receivedAt, call);
    return { data: { queriesLeft: BigInt(queries), secondsLeft: BigInt(Math.ceil(milliseconds / 1_000)), resetsAt: BigInt(reset) } };
  };
