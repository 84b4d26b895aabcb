import type { LimitRequestSchema, LimitResponseSchema } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { CheckResult, Limiter } from "../../ratelimit/limiter.ts";
import type { Procedure } from "../call.ts";
import { findOrCreateNamespace, type NamespaceDeps } from "./findOrCreateNamespaces.ts";
import { namespaceCheck } from "./namespaceCheck.ts";

/** Checks one limit and consumes from it; a denial is an ordinary answer (ratelimit §6). */
export const limit =
  (deps: NamespaceDeps & { readonly limiter: Limiter }): Procedure<typeof LimitRequestSchema, typeof LimitResponseSchema> =>
  async (request, call) => {
    const namespace = await findOrCreateNamespace(deps, request.namespace, call);
    const { check, overrideId } = namespaceCheck(namespace, request);
    const checked = deps.limiter.check([check], call.receivedAt);
    const { results } = checked instanceof Promise ? await checked : checked;
    const { passed, remaining, reset } = results[0] as CheckResult;
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
