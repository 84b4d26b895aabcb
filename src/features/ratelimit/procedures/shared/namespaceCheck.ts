import { LimitRequestSchema } from "../../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { integerOrDefault } from "../../../../platform/rpc/description/fieldDefault.ts";
import type { Check } from "../../check.ts";
import { counterKey } from "../../counterKey.ts";
import type { CachedNamespace } from "../../namespaceCache.ts";

/** What a request asks of one identifier. */
export interface RequestedCheck {
  readonly identifier: string;
  readonly limit: bigint;
  readonly duration: bigint;
  readonly cost?: bigint | undefined;
}

/** The tokens that a request asks for. */
export const readCost = (cost: bigint | undefined): number => integerOrDefault(LimitRequestSchema.field.cost, cost);

export interface NamespaceCheck {
  readonly check: Check;
  readonly overrideId: string | undefined;
}

/**
 * The check of an identifier: an override replaces limit and duration, never the cost; every identifier has a counter
 * of its own, also under a pattern (ratelimit §5).
 */
export const namespaceCheck = ({ namespace, overrides }: CachedNamespace, request: RequestedCheck): NamespaceCheck => {
  const override = overrides.match(request.identifier);
  const limit = override?.limit ?? Number(request.limit);
  const duration = override?.duration ?? Number(request.duration);
  const cost = readCost(request.cost);
  const key = counterKey(namespace._id, duration, request.identifier);
  // A limit of 0 blocks everything, also what only looks.
  return { check: { key, limit, duration, cost: limit === 0 ? Math.max(1, cost) : cost }, overrideId: override?._id };
};
