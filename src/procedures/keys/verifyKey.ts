import {
  VerificationCode,
  VerificationCodeSchema,
  type VerifyKeyRequest,
  type VerifyKeyRequestSchema,
  type VerifyKeyResponseSchema,
} from "../../../gen/latchkey/v2/keys_pb.ts";
import type { Analytics } from "../../analytics/createAnalytics.ts";
import { allowsAny, insufficientPermissions, permits } from "../../domain/authorization.ts";
import type { Clock } from "../../domain/clock.ts";
import { type PermissionQuery, parsePermissionQuery } from "../../domain/permissionQuery.ts";
import { bringInRefills } from "../../domain/refill.ts";
import { hashKey } from "../../domain/secrets/keySecret.ts";
import type { Decision, Limiter } from "../../ratelimit/limiter.ts";
import type { CreditSpender } from "../../verification/creditSpender.ts";
import { balanceAt, creditsOf, refusal } from "../../verification/decision.ts";
import type { FailureBudget } from "../../verification/failureBudget.ts";
import type { LastUsed } from "../../verification/lastUsed.ts";
import type { LimitCheck } from "../../verification/limitCheck.ts";
import type { MigrateOnUse } from "../../verification/migrateOnUse.ts";
import { limitChecks } from "../../verification/ratelimitChecks.ts";
import type { VerificationCache } from "../../verification/verificationCache.ts";
import type { VerificationEntry } from "../../verification/verificationEntry.ts";
import type { Answer as AnswerOf, Call, Procedure } from "../shared/call.ts";
import { type Data, REFUSALS, showChecks, showVerification } from "../shared/keys/verificationAnswer.ts";
import { creditCost, requestedLimits } from "../shared/keys/verificationRequest.ts";

export interface VerifyKeyDeps {
  readonly verifications: VerificationCache;
  readonly limiter: Limiter;
  readonly credits: CreditSpender;
  readonly migrate: MigrateOnUse;
  readonly lastUsed: LastUsed;
  readonly failures: FailureBudget;
  /** Counts an outcome by its code. */
  readonly onOutcome: (code: string) => void;
  readonly clock: Clock;
  readonly analytics: Pick<Analytics, "recordVerification"> | undefined;
}

type Answer = AnswerOf<typeof VerifyKeyResponseSchema>;

const codeName = (code: VerificationCode): string => VerificationCodeSchema.value[code]?.localName ?? "UNSPECIFIED";

/** Whether the call may know of keys of this API (verify §1, §6 step 5). */
const isVisible = (apiId: string, request: VerifyKeyRequest, call: Call): boolean =>
  (request.keyspaces === undefined || request.keyspaces.values.includes(apiId)) && permits(call.caller, "api.verify_key", apiId);

/** Does something when it is one's turn, and lets the next one have it. */
const inTurn = async <T>(turn: Promise<() => void>, task: () => T | Promise<T>): Promise<T> => {
  const release = await turn;
  try {
    return await task();
  } finally {
    release();
  }
};

/** Decides whether a key may be used now, and spends its rate limits and credits in the same step (verify §6). */
export const verifyKey = ({
  verifications,
  limiter,
  credits,
  migrate,
  lastUsed,
  failures,
  onOutcome,
  clock,
  analytics,
}: VerifyKeyDeps): Procedure<typeof VerifyKeyRequestSchema, typeof VerifyKeyResponseSchema> => {
  const notFound = (): Answer => {
    onOutcome(codeName(VerificationCode.NOT_FOUND));
    return { data: { valid: false, code: VerificationCode.NOT_FOUND } };
  };

  /** The end of every verification of a key that was found. */
  const conclude = (
    entry: VerificationEntry,
    request: VerifyKeyRequest,
    call: Call,
    code: VerificationCode,
    ratelimits: Data["ratelimits"],
    balance: number | undefined,
    spentCredits = 0,
  ): Answer => {
    lastUsed.mark(entry.keyId, call.receivedAt);
    const outcome = codeName(code);
    onOutcome(outcome);
    analytics?.recordVerification({
      requestId: call.requestId,
      time: clock.now(),
      apiId: entry.apiId,
      keyId: entry.keyId,
      identityId: entry.identity?.id ?? "",
      externalId: entry.identity?.externalId ?? "",
      outcome,
      tags: request.tags,
      spentCredits,
      latency: clock.monotonic() - call.startedAt,
    });
    return { data: showVerification(entry, code, balance, ratelimits) };
  };

  /** Step 11 of verify §6; only the store decides a spend. */
  const spend = async (
    entry: VerificationEntry,
    request: VerifyKeyRequest,
    call: Call,
    ratelimits: Data["ratelimits"],
  ): Promise<Answer> => {
    const cost = creditCost(request);
    const time = { now: call.receivedAt, refillDue: bringInRefills(creditsOf(entry), call.receivedAt) !== undefined };
    const spent = await credits.spend(entry.keyId, cost, time, call);
    if (spent.outcome === "gone") return notFound();
    if (spent.outcome === "unlimited") return conclude(entry, request, call, VerificationCode.VALID, ratelimits, undefined);
    entry.balance = spent.balance;
    entry.refilledAt = spent.refilledAt;
    const code = spent.outcome === "spent" ? VerificationCode.VALID : VerificationCode.USAGE_EXCEEDED;
    return conclude(entry, request, call, code, ratelimits, spent.balance, spent.outcome === "spent" ? cost : 0);
  };

  const pay = (
    entry: VerificationEntry,
    request: VerifyKeyRequest,
    call: Call,
    ratelimits: Data["ratelimits"],
  ): Answer | Promise<Answer> =>
    entry.balance === undefined
      ? conclude(entry, request, call, VerificationCode.VALID, ratelimits, undefined)
      : spend(entry, request, call, ratelimits);

  const afterLimits = (
    entry: VerificationEntry,
    request: VerifyKeyRequest,
    call: Call,
    checks: readonly LimitCheck[],
    { passed, results }: Decision,
  ): Answer | Promise<Answer> => {
    const ratelimits = showChecks(checks, results);
    if (passed) return pay(entry, request, call, ratelimits);
    return conclude(entry, request, call, VerificationCode.RATE_LIMITED, ratelimits, balanceAt(entry, call.receivedAt));
  };

  const judge = (
    found: VerificationEntry | null,
    request: VerifyKeyRequest,
    call: Call,
    query: PermissionQuery | undefined,
  ): Answer | Promise<Answer> => {
    if (found === null) {
      failures.note(call.caller.rootKeyId);
      permits(call.caller, "api.verify_key", "*");
    }
    if (found === null || !isVisible(found.apiId, request, call)) return notFound();
    const refused = refusal(found, query, call.receivedAt, call.remoteIp);
    if (refused !== undefined) return conclude(found, request, call, REFUSALS[refused], undefined, balanceAt(found, call.receivedAt));
    const checks = limitChecks(found, requestedLimits(request));
    if (checks.length === 0) return pay(found, request, call, undefined);
    const decision = limiter.check(checks, call.receivedAt, call);
    return decision instanceof Promise
      ? decision.then((known) => afterLimits(found, request, call, checks, known))
      : afterLimits(found, request, call, checks, decision);
  };

  /** The key that another system's key has become by this use (verify §8), null if there is none. */
  const findMigrated = async (hash: string, request: VerifyKeyRequest, call: Call): Promise<VerificationEntry | null> => {
    const mayVerify = (apiId: string): boolean => isVisible(apiId, request, call);
    const migrated = await migrate(request.key, hash, request.migrationId ?? "", mayVerify, call);
    return migrated ? (await verifications.get(hash, call)).value : null;
  };

  // Not async: a warm verification is answered at once, without a turn of the microtask queue for each step.
  return (request, call) => {
    const query = request.permissions === undefined ? undefined : parsePermissionQuery(request.permissions);
    if (!allowsAny(call.caller, "api.verify_key")) throw insufficientPermissions([["api.verify_key", "*"]]);
    const hash = hashKey(request.key);
    const proceed = ({ value }: { readonly value: VerificationEntry | null }): Answer | Promise<Answer> =>
      value === null && request.migrationId
        ? findMigrated(hash, request, call).then((migrated) => judge(migrated, request, call, query))
        : judge(value, request, call, query);
    const turn = verifications.has(hash) ? undefined : failures.turn(call.caller.rootKeyId);
    if (turn !== undefined) return inTurn(turn, () => verifications.get(hash, call)).then(proceed);
    const cached = verifications.get(hash, call);
    return cached instanceof Promise ? cached.then(proceed) : proceed(cached);
  };
};
