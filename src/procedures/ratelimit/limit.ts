import type { LimitRequestSchema, LimitResponseSchema } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { Analytics } from "../../analytics/createAnalytics.ts";
import type { Clock } from "../../domain/clock.ts";
import type { CheckResult, Limiter } from "../../ratelimit/limiter.ts";
import type { Procedure } from "../shared/call.ts";
import { findOrCreateNamespace, type NamespaceDeps } from "../shared/ratelimit/findOrCreateNamespaces.ts";
import { namespaceCheck } from "../shared/ratelimit/namespaceCheck.ts";

export interface LimitDeps extends NamespaceDeps {
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly analytics: Pick<Analytics, "recordRatelimit"> | undefined;
}

/** Checks one limit and consumes from it; a denial is an ordinary answer (ratelimit §6). */
export const limit =
  (deps: LimitDeps): Procedure<typeof LimitRequestSchema, typeof LimitResponseSchema> =>
  async (request, call) => {
    const namespace = await findOrCreateNamespace(deps, request.namespace, call);
    const { check, overrideId } = namespaceCheck(namespace, request);
    const checked = deps.limiter.check([check], call.receivedAt, call);
    const { results } = checked instanceof Promise ? await checked : checked;
    const { passed, remaining, reset } = results[0] as CheckResult;
    deps.analytics?.recordRatelimit({
      requestId: call.requestId,
      time: deps.clock.now(),
      namespaceId: namespace.namespace._id,
      identifier: request.identifier,
      passed,
      latency: deps.clock.monotonic() - call.startedAt,
      overrideId: overrideId ?? "",
      limit: check.limit,
      remaining,
      resetAt: reset,
      tokens: request.cost === undefined ? 1 : Number(request.cost),
    });
    return {
      data: {
        success: passed,
        limit: BigInt(check.limit),
        remaining: BigInt(remaining),
        reset: BigInt(reset),
        ...(overrideId === undefined ? {} : { overrideId }),
      },
    };
  };
