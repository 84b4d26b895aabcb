import type { LimitRequestSchema, LimitResponseSchema } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { CheckResult, Limiter } from "../../ratelimit/limiter.ts";
import type { Procedure } from "../call.ts";
import { findOrCreateNamespace, type NamespaceDeps } from "./findOrCreateNamespace.ts";

/** Checks one limit and consumes from it; a denial is an ordinary answer (ratelimit §6). */
export const limit =
  (deps: NamespaceDeps & { readonly limiter: Limiter }): Procedure<typeof LimitRequestSchema, typeof LimitResponseSchema> =>
  async (request, call) => {
    const namespace = await findOrCreateNamespace(deps, request.namespace, call);
    const duration = Number(request.duration);
    const check = {
      key: `namespace:${namespace._id}:${duration}:${request.identifier}`,
      limit: Number(request.limit),
      duration,
      cost: request.cost === undefined ? 1 : Number(request.cost),
    };
    const checked = deps.limiter.check([check], call.receivedAt);
    const { results } = checked instanceof Promise ? await checked : checked;
    const { passed, remaining, reset } = results[0] as CheckResult;
    return { data: { success: passed, limit: request.limit, remaining: BigInt(remaining), reset: BigInt(reset) } };
  };
