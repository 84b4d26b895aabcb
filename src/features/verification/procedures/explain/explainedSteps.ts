import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  CheckOutcome,
  type ExplainedFactsSchema,
  type ExplainedGrantSchema,
  type ExplainedPermissionSchema,
  type ExplainedRatelimitSchema,
  type ExplainedStepSchema,
  GrantVia,
  RatelimitSource,
  VerificationCheck,
} from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { matchingEntry } from "../../../../platform/base/ipAllowlist.ts";
import { bringInRefills, instantAfter } from "../../../keys/refill.ts";
import { coveringSlugs, termsOf } from "../../../permissions/permissionQuery.ts";
import { type Answers, STEPS, type Step, type Verdict, verdictOn } from "../../decide.ts";
import type { Circumstances, VerificationRequest } from "../../verifiable.ts";
import type { ExplainedKey } from "./explainedKey.ts";
import type { ExplainedLimit, ExplainedLimits } from "./explainedLimits.ts";

/** A key, what is asked of it, and the circumstances. */
export interface Situation extends ExplainedKey, ExplainedLimits {
  readonly asked: VerificationRequest;
  readonly circumstances: Circumstances;
  /** What the limits and the balance would say. */
  readonly answers: Answers;
  /** The time is not the present: counters are taken for empty. */
  readonly isAssumed: boolean;
}

type ExplainedStep = MessageInitShape<typeof ExplainedStepSchema>;
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

/** A verdict in words, and what it rests on. */
interface Explanation {
  readonly detail: string;
  readonly facts?: Facts;
}

type Explain = (situation: Situation, verdict: Verdict) => Explanation;

const explainApi: Explain = ({ api }) => ({ detail: `The key belongs to the API ${api.name}, which exists.` });

const explainEnabled: Explain = (_, verdict) => ({ detail: verdict === "passed" ? "The key is enabled." : "The key is disabled." });

const explainExpiry: Explain = ({ entry: { expires }, circumstances: { receivedAt } }, verdict) => {
  if (expires === undefined) return { detail: "The key never expires." };
  const facts: Facts = { expires: BigInt(expires), remainingMs: BigInt(expires - receivedAt) };
  return { detail: `The key ${verdict === "failed" ? "expired" : "expires"} at ${timeText(expires)}.`, facts };
};

const explainIpAllowlist: Explain = ({ api, circumstances: { remoteIp } }, verdict) => {
  if (verdict === "skipped") return { detail: "The API allows every address." };
  if (remoteIp === undefined) return { detail: "The API allows only the addresses on its list, and that of the caller is unknown." };
  if (verdict === "failed") return { detail: `The address ${remoteIp} is not on the list of the API.`, facts: { remoteIp } };
  const matched = matchingEntry(api.ipAllowlist ?? [], remoteIp);
  const facts: Facts = { remoteIp, ...(matched === undefined ? {} : { matched }) };
  return { detail: `The address ${remoteIp} is on the list of the API.`, facts };
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

const explainPermissions: Explain = (situation, verdict) => {
  const { query } = situation.asked;
  if (query === undefined) return { detail: "No permission is asked for." };
  const grants = grantsBySlug(situation);
  const cut: string[] = [];
  const permissions = termsOf(query).map((permission): MessageInitShape<typeof ExplainedPermissionSchema> => {
    const grantedBy = coveringSlugs(permission).flatMap((slug) => grants.get(slug) ?? []);
    if (grantedBy.length > MOST_GRANTS) cut.push(`${permission} (${grantedBy.length})`);
    return grantedBy.length === 0 ? { permission, missing: true } : { permission, grantedBy: grantedBy.slice(0, MOST_GRANTS) };
  });
  const shown = cut.length === 0 ? "" : `; only the first ${MOST_GRANTS} grants each are shown of ${listed(cut)}`;
  if (verdict === "passed") return { detail: `The key holds the permissions that are asked for${shown}.`, facts: { permissions } };
  const missing = permissions.flatMap(({ permission, missing }) => (missing ? (permission ?? []) : []));
  return { detail: `The key does not hold what is asked for: it lacks ${listed(missing)}${shown}.`, facts: { permissions } };
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

const explainRatelimits: Explain = ({ limits, unknown, isAssumed }, verdict) => {
  const facts: Facts = { ratelimits: limits.map(showLimit), ...(isAssumed ? { assumed: true } : {}) };
  if (verdict === "skipped") return { detail: "No rate limit is checked.", facts };
  if (verdict === "passed") return { detail: "Every rate limit has room.", facts };
  if (unknown.length > 0) return { detail: `Neither the key nor its identity has a rate limit called ${listed(unknown)}.`, facts };
  const exceeded = limits.filter((limit) => !limit.passed);
  return { detail: `Rate limits are exceeded: ${listed(exceeded.map(describeLimit))}.`, facts };
};

const explainCredits: Explain = ({ entry, asked: { cost }, circumstances: { receivedAt } }, verdict) => {
  if (entry.remaining === undefined) return { detail: "The key has unlimited credits." };
  const due = bringInRefills(entry, receivedAt);
  const balance = due?.remaining ?? entry.remaining;
  const { refill, refilledAt = receivedAt } = entry;
  const next = refill && instantAfter(refill, Math.max(receivedAt, refilledAt));
  const facts: Facts = {
    balance: BigInt(balance),
    cost: BigInt(cost),
    refillsDue: BigInt(due?.count ?? 0),
    ...(next === undefined ? {} : { nextRefill: BigInt(next) }),
  };
  return { detail: `The balance of ${balance} ${verdict === "passed" ? "covers" : "does not cover"} the cost of ${cost}.`, facts };
};

const EXPLAINED: Readonly<Record<Step, { readonly check: VerificationCheck; readonly explain: Explain }>> = {
  api: { check: VerificationCheck.API, explain: explainApi },
  enabled: { check: VerificationCheck.ENABLED, explain: explainEnabled },
  expiry: { check: VerificationCheck.EXPIRY, explain: explainExpiry },
  ipAllowlist: { check: VerificationCheck.IP_ALLOWLIST, explain: explainIpAllowlist },
  permissions: { check: VerificationCheck.PERMISSIONS, explain: explainPermissions },
  ratelimits: { check: VerificationCheck.RATELIMITS, explain: explainRatelimits },
  credits: { check: VerificationCheck.CREDITS, explain: explainCredits },
};

const OUTCOMES: Readonly<Record<Verdict, CheckOutcome>> = {
  passed: CheckOutcome.PASSED,
  failed: CheckOutcome.FAILED,
  skipped: CheckOutcome.SKIPPED,
};

/** Every step of the decision in its order (verify §6), each by itself: also those after the first that fails. */
export const explainSteps = (situation: Situation): ExplainedStep[] =>
  STEPS.map((step) => {
    const { entry, asked, circumstances, answers } = situation;
    const verdict = verdictOn(step, answers, entry, asked, circumstances);
    const { check, explain } = EXPLAINED[step];
    const { detail, facts = {} } = explain(situation, verdict);
    return { check, outcome: OUTCOMES[verdict], detail, facts };
  });

export const failedSteps = (steps: readonly ExplainedStep[]): ReadonlySet<VerificationCheck> =>
  new Set(steps.flatMap(({ check, outcome }) => (check !== undefined && outcome === CheckOutcome.FAILED ? [check] : [])));
