import { isIP } from "node:net";
import type { Message } from "@bufbuild/protobuf";
import { type RatelimitConfig, type Refill, RefillInterval } from "../../../gen/latchkey/v2/common_pb.ts";
import type { CreateIdentityRequest, UpdateIdentityRequest } from "../../../gen/latchkey/v2/identities_pb.ts";
import {
  type CreateKeyCredits,
  CreditOperation,
  type ExplainRequest,
  type UpdateCreditsRequest,
  type UpdateKeyCredits,
} from "../../../gen/latchkey/v2/keys_pb.ts";
import type { SetRolePermissionsRequest } from "../../../gen/latchkey/v2/permissions_pb.ts";

/** What is wrong, and where, relative to the message: `.refillDay`. */
interface CrossFinding {
  readonly at: string;
  readonly message: string;
}

/** A rule over several fields of one message, whose fields are each valid by themselves. */
export type CrossRule = (message: Message) => CrossFinding | undefined;

/** `M` is the message that carries the rule's id, which the descriptors decide. */
const over =
  <M extends Message>(judge: (message: M) => CrossFinding | undefined): CrossRule =>
  (message) =>
    judge(message as M);

const refillWithoutBalance: CrossFinding = {
  at: ".remaining",
  message: "credits.remaining is null (unlimited), so there is nothing that credits.refill could add to",
};

/** Empty names are not compared: each is refused already. */
const repeatedName = (limits: readonly RatelimitConfig[]): CrossFinding | undefined => {
  const seen = new Set<string>();
  for (const [index, { name }] of limits.entries()) {
    if (name !== "" && seen.has(name)) return { at: `.ratelimits[${index}].name`, message: `'${name}' is given more than once` };
    seen.add(name);
  }
  return undefined;
};

/**
 * The message-level annotations (`cel`) by id, as functions: CEL itself would cost more than a verification.
 * The differential test holds both against each other.
 */
export const crossRules: ReadonlyMap<string, CrossRule> = new Map([
  [
    "refill.daily_has_no_day",
    over<Refill>(({ interval, refillDay }) =>
      interval === RefillInterval.DAILY && refillDay !== undefined
        ? { at: ".refillDay", message: "refillDay is only for monthly refills" }
        : undefined,
    ),
  ],
  [
    "refill.monthly_needs_day",
    over<Refill>(({ interval, refillDay }) =>
      interval === RefillInterval.MONTHLY && refillDay === undefined
        ? { at: ".refillDay", message: "missing property 'refillDay': a monthly refill needs it" }
        : undefined,
    ),
  ],
  [
    "create_key_credits.refill_needs_balance",
    over<CreateKeyCredits>(({ refill, remaining }) =>
      refill !== undefined && remaining !== undefined && remaining.kind.case !== "value" ? refillWithoutBalance : undefined,
    ),
  ],
  [
    "update_key_credits.refill_needs_balance",
    over<UpdateKeyCredits>(({ refill, remaining }) =>
      refill?.kind.case === "value" && remaining !== undefined && remaining.kind.case !== "value" ? refillWithoutBalance : undefined,
    ),
  ],
  [
    "update_credits.needs_value",
    over<UpdateCreditsRequest>(({ operation, value }) =>
      (operation === CreditOperation.INCREMENT || operation === CreditOperation.DECREMENT) && value?.kind.case !== "value"
        ? { at: ".value", message: "missing property 'value': increment and decrement need a number" }
        : undefined,
    ),
  ],
  ["create_identity.unique_ratelimit_names", over<CreateIdentityRequest>(({ ratelimits }) => repeatedName(ratelimits))],
  ["update_identity.unique_ratelimit_names", over<UpdateIdentityRequest>(({ ratelimits }) => repeatedName(ratelimits?.values ?? []))],
  [
    "explain.one_key",
    over<ExplainRequest>(({ keyId, key }) =>
      (keyId === undefined) === (key === undefined) ? { at: ".keyId", message: "give exactly one of keyId and key" } : undefined,
    ),
  ],
  [
    "explain.remote_ip",
    over<ExplainRequest>(({ remoteIp }) =>
      remoteIp !== undefined && isIP(remoteIp) === 0 ? { at: ".remoteIp", message: "is neither an IPv4 nor an IPv6 address" } : undefined,
    ),
  ],
  [
    "set_role_permissions.one_role",
    over<SetRolePermissionsRequest>(({ role, roleId }) =>
      (role === undefined) === (roleId === undefined) ? { at: ".role", message: "give exactly one of role and roleId" } : undefined,
    ),
  ],
]);
