import type { LimitRequest, LimitRequestSchema, LimitResponseSchema } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { Clock } from "../../../platform/base/clock.ts";
import type { Analytics } from "../../analytics/createAnalytics.ts";
import type { Answer, Call, Procedure } from "../../calls/call.ts";
import type { CheckResult, Decision, Limiter } from "../limiter.ts";
import type { CachedNamespace } from "../namespaceCache.ts";
import { findOrCreateNamespace, type NamespaceDeps } from "./shared/findOrCreateNamespaces.ts";
import { type NamespaceCheck, namespaceCheck, readCost } from "./shared/namespaceCheck.ts";

export interface LimitDeps extends NamespaceDeps {
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly analytics: Pick<Analytics, "recordRatelimit"> | undefined;
}

/**
 * Checks one limit and consumes from it; a denial is an ordinary answer (ratelimit §6). What this node knows is answered at
 * once, without a turn of the microtask queue for each step: therefore functions that wait stand apart from those that call them.
 */
export const limit = (deps: LimitDeps): Procedure<typeof LimitRequestSchema, typeof LimitResponseSchema> => {
  const { limiter, clock, analytics } = deps;

  const conclude = (
    { results }: Decision,
    { check, overrideId }: NamespaceCheck,
    namespaceId: string,
    request: LimitRequest,
    call: Call,
  ): Answer<typeof LimitResponseSchema> => {
    const { passed, remaining, reset } = results[0] as CheckResult;
    analytics?.recordRatelimit({
      requestId: call.requestId,
      time: clock.now(),
      namespaceId,
      identifier: request.identifier,
      passed,
      latency: clock.monotonic() - call.startedAt,
      overrideId: overrideId ?? "",
      limit: check.limit,
      remaining,
      resetAt: reset,
      tokens: readCost(request.cost),
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

  const whenCharged = async (
    charging: Promise<Decision>,
    asked: NamespaceCheck,
    namespaceId: string,
    request: LimitRequest,
    call: Call,
  ): Promise<Answer<typeof LimitResponseSchema>> => conclude(await charging, asked, namespaceId, request, call);

  const charge = (found: CachedNamespace, request: LimitRequest, call: Call): ReturnType<ReturnType<typeof limit>> => {
    const asked = namespaceCheck(found, request);
    const { _id: namespaceId } = found.namespace;
    const charged = limiter.check([asked.check], call.receivedAt, call);
    return charged instanceof Promise
      ? whenCharged(charged, asked, namespaceId, request, call)
      : conclude(charged, asked, namespaceId, request, call);
  };

  const whenFound = async (finding: Promise<CachedNamespace>, request: LimitRequest, call: Call): ReturnType<typeof whenCharged> =>
    charge(await finding, request, call);

  return (request, call) => {
    const found = findOrCreateNamespace(deps, request.namespace, call);
    return found instanceof Promise ? whenFound(found, request, call) : charge(found, request, call);
  };
};
