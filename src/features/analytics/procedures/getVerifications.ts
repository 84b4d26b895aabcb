import type { GetVerificationsRequestSchema, GetVerificationsResponseSchema } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import type { Procedure } from "../../calls/call.ts";
import { verifications } from "../tables/schema.ts";
import type { AnalyticsDeps } from "./readScope.ts";
import { runQuery } from "./runQuery.ts";

/** Runs a query over the verification events (analytics §4). */
export const getVerifications =
  (deps: AnalyticsDeps): Procedure<typeof GetVerificationsRequestSchema, typeof GetVerificationsResponseSchema> =>
  async ({ query }, call) => ({
    data: await runQuery(deps, { action: "api.read_analytics", dataset: verifications }, query ?? "", call),
  });
