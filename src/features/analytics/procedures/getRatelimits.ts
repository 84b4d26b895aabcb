import type { GetRatelimitsRequestSchema, GetRatelimitsResponseSchema } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import type { Procedure } from "../../calls/call.ts";
import { ratelimits } from "../tables/schema.ts";
import type { AnalyticsDeps } from "./readScope.ts";
import { runQuery } from "./runQuery.ts";

/** Runs a query over the events of limit checks (analytics §5). */
export const getRatelimits =
  (deps: AnalyticsDeps): Procedure<typeof GetRatelimitsRequestSchema, typeof GetRatelimitsResponseSchema> =>
  async ({ query }, call) => ({
    data: await runQuery(deps, { action: "ratelimit.read_analytics", dataset: ratelimits }, query ?? "", call),
  });
