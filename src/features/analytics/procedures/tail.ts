import { TailRequestSchema, type TailResponseSchema } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { integerOrDefault } from "../../../platform/rpc/description/fieldDefault.ts";
import type { Procedure } from "../../calls/call.ts";
import { readFilter, readKind } from "./readKind.ts";
import type { AnalyticsDeps } from "./readScope.ts";

/**
 * The events behind the cursor, or from now on without one, as they reach analytics (management §6): at once when there are
 * some, else as soon as there are, at most after `waitMs` (0–20000); 1–500 of them. Waiting counts in
 * nobody's calls in work, and ends when the node stops. Not counted in the quota of queries. 400 for a cursor that is unknown or
 * expired; 403, 412, 422 and 503 as queries (analytics §2); 429 `tail_limit_exceeded` when 10 calls of the root key or 100 of
 * the node wait.
 */
export const tail =
  (deps: AnalyticsDeps): Procedure<typeof TailRequestSchema, typeof TailResponseSchema> =>
  async ({ kind, filter, cursor, waitMs, limit }, call) => {
    const { analytics, scope, name } = readKind(deps, kind, call);
    const answer = await analytics.tail({
      kind: name,
      filter: readFilter(filter),
      cursor,
      waitMs: integerOrDefault(TailRequestSchema.field.waitMs, waitMs),
      limit: integerOrDefault(TailRequestSchema.field.limit, limit),
      scope,
      rootKeyId: call.caller.rootKeyId,
      signal: call.signal,
      onWait: () => call.rest(),
    });
    return { data: { ...answer, dropped: BigInt(answer.dropped) } };
  };
