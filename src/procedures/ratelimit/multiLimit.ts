import type { MultiLimitRequestSchema, MultiLimitResponseSchema } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { CheckResult, Limiter } from "../../ratelimit/limiter.ts";
import type { Procedure } from "../call.ts";
import { findOrCreateNamespaces, type NamespaceDeps } from "./findOrCreateNamespaces.ts";
import { type NamespaceCheck, namespaceCheck } from "./namespaceCheck.ts";

/** Checks several limits and consumes from all of them or from none (ratelimit §7). */
export const multiLimit =
  (deps: NamespaceDeps & { readonly limiter: Limiter }): Procedure<typeof MultiLimitRequestSchema, typeof MultiLimitResponseSchema> =>
  async ({ entries }, call) => {
    const names = entries.map((entry) => entry.namespace);
    const namespaces = await findOrCreateNamespaces(deps, names, call);
    const checks = entries.flatMap((entry): NamespaceCheck | [] => {
      const namespace = namespaces.get(entry.namespace);
      return namespace === undefined ? [] : namespaceCheck(namespace, entry);
    });
    const { passed, results } = await deps.limiter.check(
      checks.map(({ check }) => check),
      call.receivedAt,
    );
    const limits = entries.map(({ namespace, identifier }, i) => {
      const { check, overrideId } = checks[i] as NamespaceCheck;
      const result = results[i] as CheckResult;
      return {
        namespace,
        identifier,
        passed: result.passed,
        limit: BigInt(check.limit),
        remaining: BigInt(result.remaining),
        reset: BigInt(result.reset),
        ...(overrideId === undefined ? {} : { overrideId }),
      };
    });
    return { data: { passed, limits } };
  };
