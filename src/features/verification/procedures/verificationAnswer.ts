import type { MessageInitShape } from "@bufbuild/protobuf";
import type { IdentitySchema } from "../../../../gen/latchkey/v2/common_pb.ts";
import {
  VerificationCode,
  type VerifiedRatelimitSchema,
  type VerifyKeyDataSchema,
  type VerifyKeyResponseSchema,
} from "../../../../gen/latchkey/v2/keys_pb.ts";
import { type FixedFields, withFixedFields } from "../../../platform/codec/fixedFields.ts";
import type { Answer } from "../../calls/call.ts";
import { showRatelimits } from "../../calls/storedRatelimits.ts";
import type { CheckResult } from "../../ratelimit/limiter.ts";
import type { OutcomeCode } from "../decide.ts";
import type { LimitCheck } from "../limitCheck.ts";
import type { VerificationEntry } from "../verificationEntry.ts";
import type { Show } from "../verify.ts";

/** The `data` of an answer of verifyKey. */
type Data = MessageInitShape<typeof VerifyKeyDataSchema>;

/** As answers spell them. */
export const CODES: Readonly<Record<OutcomeCode, VerificationCode>> = {
  VALID: VerificationCode.VALID,
  NOT_FOUND: VerificationCode.NOT_FOUND,
  DISABLED: VerificationCode.DISABLED,
  EXPIRED: VerificationCode.EXPIRED,
  FORBIDDEN: VerificationCode.FORBIDDEN,
  INSUFFICIENT_PERMISSIONS: VerificationCode.INSUFFICIENT_PERMISSIONS,
  RATE_LIMITED: VerificationCode.RATE_LIMITED,
  USAGE_EXCEEDED: VerificationCode.USAGE_EXCEEDED,
};

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

type ShownCheck = MessageInitShape<typeof VerifiedRatelimitSchema>;

/** What of a checked limit does not depend on the call. */
const fixedOfCheck: FixedFields<LimitCheck, ShownCheck> = {
  show: ({ id, name, limit, duration, autoApply }) => ({ id, name, limit: BigInt(limit), duration: BigInt(duration), autoApply }),
  varying: ["exceeded", "remaining", "reset"],
};

/** The limits that were checked, in their order (verify §5). */
const showChecks = (checks: readonly LimitCheck[], results: readonly CheckResult[]): ShownCheck[] =>
  checks.map((check, i) => {
    const { passed, remaining, reset } = results[i] as CheckResult;
    const varying: ShownCheck = { exceeded: !passed, remaining: BigInt(remaining), reset: BigInt(reset) };
    return withFixedFields(check, fixedOfCheck, varying);
  });

/** What of an answer does not depend on the call. */
const fixedOfKey: FixedFields<VerificationEntry, Data> = {
  show: (entry) => ({
    keyId: entry.keyId,
    keyspaceId: entry.apiId,
    enabled: entry.enabled,
    ...(entry.name === undefined ? {} : { name: entry.name }),
    ...(entry.meta === undefined ? {} : { meta: entry.meta }),
    ...(entry.expires === undefined ? {} : { expires: BigInt(entry.expires) }),
    permissions: entry.permissions.slugs as string[],
    roles: entry.roles as string[],
    ...(entry.identity === undefined ? {} : { identity: showIdentity(entry.identity) }),
  }),
  varying: ["valid", "code", "credits", "ratelimits"],
};

/** The answer of verifyKey (verify §3). Of a key that was not found it tells nothing but that. */
export const showVerification: Show<Answer<typeof VerifyKeyResponseSchema>> = (code, entry, balance, limits) => {
  if (entry === undefined) return { data: { valid: false, code: CODES[code] } };
  const varying: Data = {
    valid: code === "VALID",
    code: CODES[code],
    ...(balance === undefined ? {} : { credits: BigInt(balance) }),
    ...(limits === undefined ? {} : { ratelimits: showChecks(limits.checks, limits.results) }),
  };
  return { data: withFixedFields(entry, fixedOfKey, varying) };
};
