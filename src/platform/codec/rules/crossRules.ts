import { isIP } from "node:net";
import type { Message } from "@bufbuild/protobuf";
import { type GetUsageRequest, type TailRequest, UsageKind } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { type RatelimitConfig, type Refill, RefillInterval } from "../../../../gen/latchkey/v2/common_pb.ts";
import type { CreateIdentityRequest, UpdateIdentityRequest } from "../../../../gen/latchkey/v2/identities_pb.ts";
import {
  type CreateKeyCredits,
  CreditOperation,
  type ExplainRequest,
  type UpdateCreditsRequest,
  type UpdateKeyCredits,
} from "../../../../gen/latchkey/v2/keys_pb.ts";
import type { SetRolePermissionsRequest } from "../../../../gen/latchkey/v2/permissions_pb.ts";

/** What is wrong, and where, relative to the message: `.refillDay`. */
interface CrossFinding {
  readonly at: string;
  readonly message: string;
}

/** A rule over several fields of one message, whose fields are each valid by themselves. */
export type CrossRule = (message: Message) => readonly CrossFinding[];

/** `M` is the message that carries the rule's id, which the descriptors decide. */
const over =
  <M extends Message>(judge: (message: M) => readonly CrossFinding[] | CrossFinding | undefined): CrossRule =>
  (message) =>
    [judge(message as M) ?? []].flat();

const refillWithoutBalance: CrossFinding = {
  at: ".remaining",
  message: "credits.remaining is null (unlimited), so credits.refill has nothing to add to",
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

/** Latest time that a request may name, Unix ms; one beyond is refused by itself. */
const LATEST = 4_102_444_800_000n;

/** What events can be grouped and filtered by. */
const usageNames: ReadonlyMap<UsageKind, readonly string[]> = new Map([
  [UsageKind.VERIFICATIONS, ["outcome", "apiId", "keyId", "identityId", "externalId", "tag"]],
  [UsageKind.RATELIMITS, ["namespaceId", "identifier", "passed"]],
]);

/** As many as a list may have: one that is longer is refused already. */
const MOST_NAMES = 100;

/** Those of `given` that events of the kind do not have; of an unknown kind nothing is said. */
const strangeNames = (kind: UsageKind, given: readonly string[], place: (name: string, index: number) => string): CrossFinding[] => {
  const names = usageNames.get(kind);
  const message = `of this kind of events, want one of ${names?.join(", ")}`;
  const isStrange = (name: string): boolean => names !== undefined && !names.includes(name);
  return given.slice(0, MOST_NAMES).flatMap((name, index) => (isStrange(name) ? [{ at: place(name, index), message }] : []));
};

const strangeFilters = ({ kind, filter }: Pick<GetUsageRequest, "kind" | "filter">): CrossFinding[] => {
  const given = Object.entries(filter ?? {}).flatMap(([name, list]) => (name.startsWith("$") || list === undefined ? [] : [name]));
  return strangeNames(kind, given, (name) => `.filter.${name}`);
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
    "get_usage.range",
    over<GetUsageRequest>(({ start, end }) =>
      start !== undefined && end !== undefined && start <= LATEST && start >= end
        ? { at: ".end", message: "end must be later than start" }
        : undefined,
    ),
  ],
  ["get_usage.group_by", over<GetUsageRequest>(({ kind, groupBy }) => strangeNames(kind, groupBy, (_, index) => `.groupBy[${index}]`))],
  ["get_usage.filter", over<GetUsageRequest>(strangeFilters)],
  ["tail.filter", over<TailRequest>(strangeFilters)],
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
