import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  CheckOutcome,
  type ExplainedFactsSchema,
  type ExplainedGrantSchema,
  type ExplainedPermissionSchema,
  type ExplainedRatelimitSchema,
  type ExplainedStepSchema,
  type ExplainRequest,
  GrantVia,
  RatelimitSource,
  VerificationCheck,
} from "../../../../gen/latchkey/v2/keys_pb.ts";
import { matchingEntry } from "../../../domain/ipAllowlist.ts";
import { coveringSlugs, type PermissionQuery, termsOf } from "../../../domain/permissionQuery.ts";
import { bringInRefills, instantAfter } from "../../../domain/refill.ts";
import { creditsOf, hasExpired, isAllowedFrom, isPermitted } from "../../../verification/decision.ts";
import type { ExplainedKey } from "./explainedKey.ts";
import type { ExplainedLimit, ExplainedLimits } from "./explainedLimits.ts";

/** A key, what is asked of it, and the circumstances. */
export interface Situation extends ExplainedKey, ExplainedLimits {
  readonly request: ExplainRequest;
  readonly query: PermissionQuery | undefined;
  /** Unix ms. */
  readonly at: number;
  readonly remoteIp: string | undefined;
  /** Credits. */
  readonly cost: number;
}

type Step = MessageInitShape<typeof ExplainedStepSchema>;
type Facts = MessageInitShape<typeof ExplainedFactsSchema>;

/** More names than that make no sentence. */
const NAMED = 10;

/** What grants one permission may be as much as a key can hold: so many are told. */
const MOST_GRANTS = 100;

/** A list of names as a sentence has them: `a, b and 3 more`. */
const listed = (names: readonly string[]): string =>
  names.length <= NAMED ? names.join(", ") : `${names.slice(0, NAMED).join(", ")} and ${names.length - NAMED} more`;

/** Unix ms as people read it; as a number where that is beyond what a date can hold. */
export const timeText = (time: number): string => (Math.abs(time) <= 8.64e15 ? new Date(time).toISOString() : `${time} ms`);

const passed = (check: VerificationCheck, detail: string, facts: Facts = {}): Step => ({
  check,
  outcome: CheckOutcome.PASSED,
  detail,
  facts,
});
const failed = (check: VerificationCheck, detail: string, facts: Facts = {}): Step => ({
  check,
  outcome: CheckOutcome.FAILED,
  detail,
  facts,
});
const skipped = (check: VerificationCheck, detail: string, facts: Facts = {}): Step => ({
  check,
  outcome: CheckOutcome.SKIPPED,
  detail,
  facts,
});

const apiStep = ({ api }: Situation): Step => passed(VerificationCheck.API, `The key belongs to the API ${api.name}, which exists.`);

const enabledStep = ({ entry }: Situation): Step =>
  entry.enabled ? passed(VerificationCheck.ENABLED, "The key is enabled.") : failed(VerificationCheck.ENABLED, "The key is disabled.");

const expiryStep = ({ entry, at }: Situation): Step => {
  const { expires } = entry;
  if (expires === undefined) return skipped(VerificationCheck.EXPIRY, "The key never expires.");
  const facts: Facts = { expires: BigInt(expires), remainingMs: BigInt(expires - at) };
  return hasExpired(entry, at)
    ? failed(VerificationCheck.EXPIRY, `The key expired at ${timeText(expires)}.`, facts)
    : passed(VerificationCheck.EXPIRY, `The key expires at ${timeText(expires)}.`, facts);
};

const ipAllowlistStep = ({ entry, api, remoteIp }: Situation): Step => {
  if (entry.ipAllowlist === undefined) return skipped(VerificationCheck.IP_ALLOWLIST, "The API allows every address.");
  if (remoteIp === undefined)
    return failed(VerificationCheck.IP_ALLOWLIST, "The API allows only the addresses on its list, and that of the caller is unknown.");
  if (!isAllowedFrom(entry, remoteIp))
    return failed(VerificationCheck.IP_ALLOWLIST, `The address ${remoteIp} is not on the list of the API.`, { remoteIp });
  const matched = matchingEntry(api.ipAllowlist ?? [], remoteIp);
  return passed(VerificationCheck.IP_ALLOWLIST, `The address ${remoteIp} is on the list of the API.`, {
    remoteIp,
    ...(matched === undefined ? {} : { matched }),
  });
};

/** Everything through which the key holds permissions, by slug. */
const grantsBySlug = ({ direct, roles }: ExplainedKey): Map<string, MessageInitShape<typeof ExplainedGrantSchema>[]> => {
  const grants = new Map<string, MessageInitShape<typeof ExplainedGrantSchema>[]>();
  const add = (slug: string, grant: MessageInitShape<typeof ExplainedGrantSchema>): void => {
    const known = grants.get(slug);
    if (known) known.push(grant);
    else grants.set(slug, [grant]);
  };
  for (const { slug } of direct) add(slug, { slug, via: GrantVia.KEY });
  for (const { role, permissions } of roles) for (const { slug } of permissions) add(slug, { slug, via: GrantVia.ROLE, role: role.name });
  return grants;
};

const permissionsStep = (situation: Situation): Step => {
  const { entry, query } = situation;
  if (query === undefined) return skipped(VerificationCheck.PERMISSIONS, "No permission is asked for.");
  const grants = grantsBySlug(situation);
  const cut: string[] = [];
  const permissions = termsOf(query).map((permission): MessageInitShape<typeof ExplainedPermissionSchema> => {
    const grantedBy = coveringSlugs(permission).flatMap((slug) => grants.get(slug) ?? []);
    if (grantedBy.length > MOST_GRANTS) cut.push(`${permission} (${grantedBy.length})`);
    return grantedBy.length === 0 ? { permission, missing: true } : { permission, grantedBy: grantedBy.slice(0, MOST_GRANTS) };
  });
  const shown = cut.length === 0 ? "" : `; only the first ${MOST_GRANTS} grants each are shown of ${listed(cut)}`;
  if (isPermitted(entry, query))
    return passed(VerificationCheck.PERMISSIONS, `The key holds the permissions that are asked for${shown}.`, { permissions });
  const missing = permissions.flatMap(({ permission, missing }) => (missing ? (permission ?? []) : []));
  const detail = `The key does not hold what is asked for: it lacks ${listed(missing)}${shown}.`;
  return failed(VerificationCheck.PERMISSIONS, detail, { permissions });
};

const SOURCES: Readonly<Record<ExplainedLimit["source"], RatelimitSource>> = {
  key: RatelimitSource.KEY,
  identity: RatelimitSource.IDENTITY,
  request: RatelimitSource.REQUEST,
};

const showLimit = ({
  check,
  source,
  seq,
  current,
  previous,
  weighted,
}: ExplainedLimit): MessageInitShape<typeof ExplainedRatelimitSchema> => ({
  name: check.name,
  limit: BigInt(check.limit),
  duration: BigInt(check.duration),
  cost: BigInt(check.cost),
  source: SOURCES[source],
  windowStart: BigInt(seq * check.duration),
  current: BigInt(current),
  previous: BigInt(previous),
  weighted: BigInt(weighted),
  remaining: BigInt(Math.max(0, check.limit - current - weighted)),
  reset: BigInt((seq + 1) * check.duration),
});

const describeLimit = ({ check: { name, limit, cost }, current, weighted }: ExplainedLimit): string =>
  `${name} has ${Math.max(0, limit - current - weighted)} of ${limit} left and is asked for ${cost}`;

const ratelimitsStep = ({ limits, unknown, request }: Situation): Step => {
  const facts: Facts = { ratelimits: limits.map(showLimit), ...(request.at === undefined ? {} : { assumed: true }) };
  if (unknown.length > 0)
    return failed(VerificationCheck.RATELIMITS, `Neither the key nor its identity has a rate limit called ${listed(unknown)}.`, facts);
  if (limits.length === 0) return skipped(VerificationCheck.RATELIMITS, "No rate limit is checked.", facts);
  const exceeded = limits.filter((limit) => !limit.passed);
  if (exceeded.length === 0) return passed(VerificationCheck.RATELIMITS, "Every rate limit has room.", facts);
  return failed(VerificationCheck.RATELIMITS, `Rate limits are exceeded: ${listed(exceeded.map(describeLimit))}.`, facts);
};

const creditsStep = ({ entry, at, cost }: Situation): Step => {
  if (entry.balance === undefined) return skipped(VerificationCheck.CREDITS, "The key has unlimited credits.");
  const due = bringInRefills(creditsOf(entry), at);
  const balance = due?.remaining ?? entry.balance;
  const { refill, refilledAt = at } = entry;
  const next = refill && instantAfter(refill, Math.max(at, refilledAt));
  const facts: Facts = {
    balance: BigInt(balance),
    cost: BigInt(cost),
    refillsDue: BigInt(due?.count ?? 0),
    ...(next === undefined ? {} : { nextRefill: BigInt(next) }),
  };
  return balance >= cost
    ? passed(VerificationCheck.CREDITS, `The balance of ${balance} covers the cost of ${cost}.`, facts)
    : failed(VerificationCheck.CREDITS, `The balance of ${balance} does not cover the cost of ${cost}.`, facts);
};

/** Every check in the order of decision (verify §6), each by itself: also those after the first that fails. */
export const explainSteps = (situation: Situation): Step[] =>
  [apiStep, enabledStep, expiryStep, ipAllowlistStep, permissionsStep, ratelimitsStep, creditsStep].map((explainStep) =>
    explainStep(situation),
  );

export const failedSteps = (steps: readonly Step[]): ReadonlySet<VerificationCheck> =>
  new Set(steps.flatMap(({ check, outcome }) => (check !== undefined && outcome === CheckOutcome.FAILED ? [check] : [])));
