import type { VerifyKeyRequest } from "../../../../gen/latchkey/v2/keys_pb.ts";
import type { RequestedLimit } from "../../../verification/ratelimitChecks.ts";

/** What requests of verifyKey and explain have in common (verify §2). */

const NO_LIMITS: readonly RequestedLimit[] = [];

export const requestedLimits = ({ ratelimits }: Pick<VerifyKeyRequest, "ratelimits">): readonly RequestedLimit[] =>
  ratelimits.length === 0
    ? NO_LIMITS
    : ratelimits.map(({ name, cost, limit, duration }) => ({
        name,
        cost: cost === undefined ? 1 : Number(cost),
        limit: limit === undefined ? undefined : Number(limit),
        duration: duration === undefined ? undefined : Number(duration),
      }));

/** Credits that a key with a balance is asked for. */
export const creditCost = ({ credits }: Pick<VerifyKeyRequest, "credits">): number =>
  credits?.cost === undefined ? 1 : Number(credits.cost);
