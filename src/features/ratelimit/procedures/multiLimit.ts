import type { MultiLimitRequestSchema, MultiLimitResponseSchema } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { Procedure } from "../../calls/call.ts";
import type { CheckResult } from "../limiter.ts";
import type { LimitDeps } from "./limit.ts";
import { findOrCreateNamespaces } from "./shared/findOrCreateNamespaces.ts";
import { type NamespaceCheck, namespaceCheck, readCost } from "./shared/namespaceCheck.ts";

/** Checks several limits and consumes from all of them or from none (ratelimit §7). */
export const multiLimit =
  (deps: LimitDeps): Procedure<typeof MultiLimitRequestSchema, typeof MultiLimitResponseSchema> =>
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
      call,
    );
    const time = deps.clock.now();
    const latency = (deps.clock.monotonic() - call.startedAt) / entries.length;
    const limits = entries.map(({ namespace, identifier, cost }, i) => {
      const { check, overrideId } = checks[i] as NamespaceCheck;
      const result = results[i] as CheckResult;
      deps.analytics?.recordRatelimit({
        requestId: call.requestId,
        time,
        namespaceId: namespaces.get(namespace)?.namespace._id ?? "",
        identifier,
        passed: result.passed,
        latency,
        overrideId: overrideId ?? "",
        limit: check.limit,
        remaining: result.remaining,
        resetAt: result.reset,
        tokens: readCost(cost),
      });
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
