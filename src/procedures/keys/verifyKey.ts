import type { MessageInitShape } from "@bufbuild/protobuf";
import type { IdentitySchema } from "../../../gen/latchkey/v2/common_pb.ts";
import {
  VerificationCode,
  VerificationCodeSchema,
  type VerifiedRatelimitSchema,
  type VerifyKeyDataSchema,
  type VerifyKeyRequest,
  type VerifyKeyRequestSchema,
  type VerifyKeyResponseSchema,
} from "../../../gen/latchkey/v2/keys_pb.ts";
import type { Analytics } from "../../analytics/analytics.ts";
import { allows, allowsAny, insufficientPermissions } from "../../domain/authorization.ts";
import type { Clock } from "../../domain/clock.ts";
import { hashKey } from "../../domain/keySecret.ts";
import { type PermissionQuery, parsePermissionQuery, satisfies } from "../../domain/permissionQuery.ts";
import { bringInRefills, type Refillable } from "../../domain/refill.ts";
import type { CheckResult, Limiter } from "../../ratelimit/limiter.ts";
import type { CreditSpender } from "../../verification/creditSpender.ts";
import type { LastUsed } from "../../verification/lastUsed.ts";
import type { MigrateOnUse } from "../../verification/migrateOnUse.ts";
import { type LimitCheck, limitChecks, type RequestedLimit } from "../../verification/ratelimitChecks.ts";
import type { VerificationCache } from "../../verification/verificationCache.ts";
import type { VerificationEntry } from "../../verification/verificationEntry.ts";
import type { Call, Procedure } from "../call.ts";
import { showRatelimits } from "./keyObject.ts";

export interface VerifyKeyDeps {
  readonly verifications: VerificationCache;
  readonly limiter: Limiter;
  readonly credits: CreditSpender;
  readonly migrate: MigrateOnUse;
  readonly lastUsed: LastUsed;
  /** Counts an outcome by its code. */
  readonly onOutcome: (code: string) => void;
  readonly clock: Clock;
  readonly analytics: Pick<Analytics, "recordVerification"> | undefined;
}

/** What is told of a verification beside its answer. */
interface Told {
  /** The key that was found; undefined: there is nothing to tell. */
  entry: VerificationEntry | undefined;
  spentCredits: number;
}

type Data = MessageInitShape<typeof VerifyKeyDataSchema>;

const NOT_FOUND: Data = { valid: false, code: VerificationCode.NOT_FOUND };
const NO_LIMITS: readonly RequestedLimit[] = [];

const showIdentity = ({
  id,
  externalId,
  meta,
  ratelimits,
}: NonNullable<VerificationEntry["identity"]>): MessageInitShape<typeof IdentitySchema> => ({
  id,
  externalId,
  ...(meta === undefined ? {} : { meta }),
  ratelimits: showRatelimits(ratelimits),
});

const showChecks = (checks: readonly LimitCheck[], results: readonly CheckResult[]): MessageInitShape<typeof VerifiedRatelimitSchema>[] =>
  checks.map(({ id, name, limit, duration, autoApply }, i) => {
    const { passed, remaining, reset } = results[i] as CheckResult;
    return {
      id,
      name,
      limit: BigInt(limit),
      duration: BigInt(duration),
      autoApply,
      exceeded: !passed,
      remaining: BigInt(remaining),
      reset: BigInt(reset),
    };
  });

/** The answer for a key that was found, whatever the outcome (verify §3). */
const answer = (entry: VerificationEntry, code: VerificationCode, balance: number | undefined, ratelimits: Data["ratelimits"]): Data => ({
  valid: code === VerificationCode.VALID,
  code,
  keyId: entry.keyId,
  keyspaceId: entry.apiId,
  enabled: entry.enabled,
  ...(entry.name === undefined ? {} : { name: entry.name }),
  ...(entry.meta === undefined ? {} : { meta: entry.meta }),
  ...(entry.expires === undefined ? {} : { expires: BigInt(entry.expires) }),
  ...(balance === undefined ? {} : { credits: BigInt(balance) }),
  permissions: entry.permissions.slugs as string[],
  roles: entry.roles as string[],
  ...(entry.identity === undefined ? {} : { identity: showIdentity(entry.identity) }),
  ...(ratelimits === undefined ? {} : { ratelimits }),
});

const requestedLimits = (request: VerifyKeyRequest): readonly RequestedLimit[] =>
  request.ratelimits.length === 0
    ? NO_LIMITS
    : request.ratelimits.map(({ name, cost, limit, duration }) => ({
        name,
        cost: cost === undefined ? 1 : Number(cost),
        limit: limit === undefined ? undefined : Number(limit),
        duration: duration === undefined ? undefined : Number(duration),
      }));

const entryCredits = ({ balance, refill, refilledAt }: VerificationEntry): Refillable => ({
  ...(balance === undefined ? {} : { remaining: balance }),
  ...(refill === undefined ? {} : { refill }),
  ...(refilledAt === undefined ? {} : { refilledAt }),
});

/** The balance that this node saw last, with the refills that are due since. */
const balanceAt = (entry: VerificationEntry, now: number): number | undefined =>
  bringInRefills(entryCredits(entry), now)?.remaining ?? entry.balance;

/** Decided by the key and the request alone, in the order of verify §6, steps 6 to 9. */
const refusal = (
  entry: VerificationEntry,
  query: PermissionQuery | undefined,
  { receivedAt, remoteIp }: Call,
): VerificationCode | undefined => {
  if (!entry.enabled) return VerificationCode.DISABLED;
  if (entry.expiredFrom !== undefined && receivedAt >= entry.expiredFrom) return VerificationCode.EXPIRED;
  if (entry.ipAllowlist !== undefined && !entry.ipAllowlist.allows(remoteIp)) return VerificationCode.FORBIDDEN;
  if (query !== undefined && !satisfies(entry.permissions, query)) return VerificationCode.INSUFFICIENT_PERMISSIONS;
  return undefined;
};

/** Whether the call may know of keys of this API (verify §1, §6 step 5). */
const isVisible = (apiId: string, request: VerifyKeyRequest, call: Call): boolean =>
  allows(call.caller, "api.verify_key", apiId) && (request.keyspaces === undefined || request.keyspaces.values.includes(apiId));

/** Decides whether a key may be used now, and spends its rate limits and credits in the same step (verify §6). */
export const verifyKey = ({
  verifications,
  limiter,
  credits,
  migrate,
  lastUsed,
  onOutcome,
  clock,
  analytics,
}: VerifyKeyDeps): Procedure<typeof VerifyKeyRequestSchema, typeof VerifyKeyResponseSchema> => {
  const decide = async (request: VerifyKeyRequest, call: Call, told: Told): Promise<Data> => {
    const query = request.permissions === undefined ? undefined : parsePermissionQuery(request.permissions);
    if (!allowsAny(call.caller, "api.verify_key")) throw insufficientPermissions([["api.verify_key", "*"]]);
    const hash = hashKey(request.key);
    const found = verifications.get(hash);
    let { value } = found instanceof Promise ? await found : found;
    if (value === null && request.migrationId) {
      const mayVerify = (apiId: string): boolean => isVisible(apiId, request, call);
      if (await migrate(request.key, hash, request.migrationId, mayVerify, call)) value = (await verifications.get(hash)).value;
    }
    const entry = value !== null && isVisible(value.apiId, request, call) ? value : undefined;
    if (entry === undefined) return NOT_FOUND;
    told.entry = entry;

    const refused = refusal(entry, query, call);
    if (refused !== undefined) return answer(entry, refused, balanceAt(entry, call.receivedAt), undefined);

    let ratelimits: Data["ratelimits"];
    const checks = limitChecks(entry, requestedLimits(request));
    if (checks.length > 0) {
      const checked = limiter.check(checks, call.receivedAt);
      const { passed, results } = checked instanceof Promise ? await checked : checked;
      ratelimits = showChecks(checks, results);
      if (!passed) return answer(entry, VerificationCode.RATE_LIMITED, balanceAt(entry, call.receivedAt), ratelimits);
    }

    if (entry.balance === undefined) return answer(entry, VerificationCode.VALID, undefined, ratelimits);
    const cost = request.credits?.cost === undefined ? 1 : Number(request.credits.cost);
    const time = { now: call.receivedAt, refillDue: bringInRefills(entryCredits(entry), call.receivedAt) !== undefined };
    const spend = await credits.spend(entry.keyId, cost, time);
    if (spend.outcome === "gone") {
      told.entry = undefined;
      return NOT_FOUND;
    }
    if (spend.outcome === "unlimited") return answer(entry, VerificationCode.VALID, undefined, ratelimits);
    entry.balance = spend.balance;
    entry.refilledAt = spend.refilledAt;
    const code = spend.outcome === "spent" ? VerificationCode.VALID : VerificationCode.USAGE_EXCEEDED;
    if (spend.outcome === "spent") told.spentCredits = cost;
    return answer(entry, code, spend.balance, ratelimits);
  };

  return async (request, call) => {
    const startedAt = clock.monotonic();
    const told: Told = { entry: undefined, spentCredits: 0 };
    const data = await decide(request, call, told);
    if (data.keyId !== undefined) lastUsed.mark(data.keyId, call.receivedAt);
    const outcome = VerificationCodeSchema.value[data.code ?? VerificationCode.UNSPECIFIED]?.localName ?? "UNSPECIFIED";
    onOutcome(outcome);
    const { entry, spentCredits } = told;
    if (entry !== undefined) {
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
        latency: clock.monotonic() - startedAt,
      });
    }
    return { data };
  };
};
