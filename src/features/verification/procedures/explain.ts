import type { ExplainRequestSchema, ExplainResponseSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { plainAddress } from "../../../platform/base/ipAllowlist.ts";
import type { Procedure } from "../../calls/call.ts";
import { balanceAt } from "../../keys/refill.ts";
import type { Limiter } from "../../ratelimit/limiter.ts";
import { type Answers, decide, decideKnowing } from "../decide.ts";
import type { Circumstances } from "../verifiable.ts";
import { type ExplainedKeyDeps, findExplainedKey } from "./explain/explainedKey.ts";
import { explainLimits } from "./explain/explainedLimits.ts";
import { explainSteps, failedSteps, type Situation } from "./explain/explainedSteps.ts";
import { type SuggestChangesDeps, suggestChanges } from "./explain/suggestedChanges.ts";
import { CODES } from "./verificationAnswer.ts";
import { readExplained } from "./verificationRequest.ts";

export type ExplainDeps = ExplainedKeyDeps & SuggestChangesDeps & { readonly limiter: Pick<Limiter, "peek"> };

/**
 * Says why a key would pass or fail a verification, now or at another time, and what would make it pass (management §2,
 * §8). It asks the decision that verifyKey asks, with the store's documents and a look at the counters; nothing is spent,
 * recorded, counted, marked as used or written. 404 and 403 as `findExplainedKey` says, 412 exactly where verifyKey answers it.
 */
export const explain =
  (deps: ExplainDeps): Procedure<typeof ExplainRequestSchema, typeof ExplainResponseSchema> =>
  async (request, call) => {
    const asked = readExplained(request);
    const explained = await findExplainedKey(deps, request, call);
    const { key, entry } = explained;
    const assumedAt = request.at === undefined ? undefined : Number(request.at);
    const circumstances: Circumstances = {
      caller: call.caller,
      remoteIp: request.remoteIp === undefined ? call.remoteIp : plainAddress(request.remoteIp),
      receivedAt: assumedAt ?? call.receivedAt,
    };
    const isDenied = decide(entry, asked, circumstances).tag === "denied";
    const limits = await explainLimits(deps, entry, asked.limits, isDenied, assumedAt, call);
    const answers: Answers = {
      ratelimits: limits.unknown.length === 0 && limits.limits.every(({ passed }) => passed),
      credits: (balanceAt(entry, circumstances.receivedAt) ?? asked.cost) >= asked.cost,
    };
    const situation: Situation = { ...explained, ...limits, asked, circumstances, answers, isAssumed: assumedAt !== undefined };
    const { code } = decideKnowing(answers, entry, asked, circumstances);
    const steps = explainSteps(situation);
    return {
      data: {
        keyId: key._id,
        apiId: key.apiId,
        at: BigInt(circumstances.receivedAt),
        code: CODES[code],
        valid: code === "VALID",
        steps,
        suggestions: await suggestChanges(deps, situation, failedSteps(steps), call),
      },
    };
  };
