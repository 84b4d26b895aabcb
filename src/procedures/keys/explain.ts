import { type ExplainRequestSchema, type ExplainResponseSchema, VerificationCode } from "../../../gen/latchkey/v2/keys_pb.ts";
import { plainAddress } from "../../domain/ipAllowlist.ts";
import { parsePermissionQuery } from "../../domain/permissionQuery.ts";
import type { Limiter } from "../../ratelimit/limiter.ts";
import { balanceAt, refusal } from "../../verification/decision.ts";
import type { Procedure } from "../shared/call.ts";
import { type ExplainedKeyDeps, findExplainedKey } from "../shared/keys/explainedKey.ts";
import { explainLimits } from "../shared/keys/explainedLimits.ts";
import { explainSteps, failedSteps, type Situation } from "../shared/keys/explainedSteps.ts";
import { suggestChanges } from "../shared/keys/suggestedChanges.ts";
import { REFUSALS } from "../shared/keys/verificationAnswer.ts";
import { creditCost } from "../shared/keys/verificationRequest.ts";

export type ExplainDeps = ExplainedKeyDeps & { readonly limiter: Limiter };

/** What verifyKey would answer in this situation: its steps 6 to 12 (verify §6). */
const codeOf = ({ entry, query, at, remoteIp, limits, cost }: Situation): VerificationCode => {
  const refused = refusal(entry, query, at, remoteIp);
  if (refused !== undefined) return REFUSALS[refused];
  if (!limits.every(({ passed }) => passed)) return VerificationCode.RATE_LIMITED;
  return (balanceAt(entry, at) ?? cost) >= cost ? VerificationCode.VALID : VerificationCode.USAGE_EXCEEDED;
};

/**
 * Says why a key would pass or fail a verification, now or at another time, and what would make it pass (management §2,
 * §8). It reads the store and this node's counters; nothing is spent, recorded, counted, marked as used or written.
 * 404 and 403 as `findExplainedKey` says, 412 exactly where verifyKey answers it.
 */
export const explain =
  (deps: ExplainDeps): Procedure<typeof ExplainRequestSchema, typeof ExplainResponseSchema> =>
  async (request, call) => {
    const query = request.permissions === undefined ? undefined : parsePermissionQuery(request.permissions);
    const explained = await findExplainedKey(deps, request, call);
    const { key, entry } = explained;
    const at = request.at === undefined ? call.receivedAt : Number(request.at);
    const remoteIp = request.remoteIp === undefined ? call.remoteIp : plainAddress(request.remoteIp);
    const isRefused = refusal(entry, query, at, remoteIp) !== undefined;
    const limits = await explainLimits(deps, entry, request, isRefused, call);
    const situation: Situation = { ...explained, ...limits, request, query, at, remoteIp, cost: creditCost(request) };
    const code = codeOf(situation);
    const steps = explainSteps(situation);
    return {
      data: {
        keyId: key._id,
        apiId: key.apiId,
        at: BigInt(at),
        code,
        valid: code === VerificationCode.VALID,
        steps,
        suggestions: await suggestChanges(deps, situation, failedSteps(steps), call),
      },
    };
  };
