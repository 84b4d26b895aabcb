import type { MessageInitShape } from "@bufbuild/protobuf";
import { NullValue } from "@bufbuild/protobuf/wkt";
import { type ExplainSuggestionSchema, type UpdateKeyRequestSchema, VerificationCheck } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { parseNetwork } from "../../../../platform/base/ipAllowlist.ts";
import { roomFrom } from "../../../../platform/storage/counters/slidingWindow.ts";
import type { Call } from "../../../calls/call.ts";
import { balanceAt, instantAfter } from "../../../keys/refill.ts";
import { lackingGrants, termsOf } from "../../../permissions/permissionQuery.ts";
import { type PermissionsRepository, slugKey } from "../../../permissions/permissionsRepository.ts";
import { hasExpired } from "../../decide.ts";
import { type Situation, timeText } from "./explainedSteps.ts";

type Suggestion = MessageInitShape<typeof ExplainSuggestionSchema>;
type KeyFields = MessageInitShape<typeof UpdateKeyRequestSchema>;

/** A part of a body of updateKey, and what it does, as the rest of a sentence. */
interface KeyModification {
  readonly text: string;
  readonly fields: KeyFields;
}

/** The last time that can be asked about, and that keys can expire at (keys §1.6). */
const LAST_TIME = 4_102_444_800_000;

/** What updateKey takes (keys §3). */
const MOST_PERMISSIONS = 1_000;
const SLUG = /^[a-zA-Z0-9_:\-.*]{3,100}$/;
/** What updateApi takes (management §2). */
const MOST_ADDRESSES = 1_000;

/** Items that begin like this are taken for ids first. */
const isSlugItem = (item: string): boolean => SLUG.test(item) && !item.startsWith("perm_");

/** The direct permissions that the key has, and those that it lacks; slugs that differ only in letter case exclude each other. */
const grantMissing = async (
  permissions: SuggestChangesDeps["permissions"],
  situation: Situation,
  call: Call,
): Promise<KeyModification | undefined> => {
  const { entry, asked, direct } = situation;
  const { query } = asked;
  if (query === undefined) return undefined;
  const askable = termsOf(query).filter((term) => isSlugItem(term) && !entry.permissions.has(term));
  const taken = new Map((await permissions.findManyBySlug(askable, call)).map(({ slug }) => [slugKey(slug), slug]));
  const grantable = new Set(askable.filter((term) => (taken.get(slugKey(term)) ?? term) === term));
  const lacking = lackingGrants(entry.permissions, query, (slug) => grantable.has(slug));
  if (lacking === undefined || new Set(lacking.map(slugKey)).size < lacking.length) return undefined;
  const values = [...direct.map(({ _id, slug }) => (isSlugItem(slug) ? slug : _id)), ...lacking];
  if (values.length > MOST_PERMISSIONS) return undefined;
  return { text: `grant ${lacking.join(", ")}`, fields: { permissions: { values } } };
};

/** The key's limits with room in those that are exceeded. Those of the identity and of the request are not the key's to change. */
const raiseLimits = ({ key, limits, unknown, asked }: Situation): KeyModification | undefined => {
  if (unknown.length > 0) return undefined;
  const exceeded = limits.filter(({ passed }) => !passed);
  const raised = new Map(exceeded.map(({ check, current, weighted }) => [check.name, current + weighted + check.cost]));
  const lastOfName = new Map(asked.limits.map((item) => [item.name, item]));
  const possible = exceeded.every(
    ({ source, check: { name } }) =>
      source === "key" && lastOfName.get(name)?.limit === undefined && Number.isSafeInteger(raised.get(name)),
  );
  if (!possible) return undefined;
  const values = key.ratelimits.map(({ name, limit, duration, autoApply }) => ({
    name,
    limit: BigInt(raised.get(name) ?? limit),
    duration: BigInt(duration),
    autoApply,
  }));
  const text = [...raised].map(([name, limit]) => `raise the limit ${name} to ${limit}`).join(", ");
  return { text, fields: { ratelimits: { kind: { case: "value", value: { values } } } } };
};

const addCredits = ({ asked: { cost } }: Situation): KeyModification => ({
  text: `set the balance to ${cost}`,
  fields: { credits: { kind: { case: "value", value: { remaining: { kind: { case: "value", value: BigInt(cost) } } } } } },
});

const keyChange = async (
  permissions: SuggestChangesDeps["permissions"],
  situation: Situation,
  check: VerificationCheck,
  call: Call,
): Promise<KeyModification | undefined> => {
  switch (check) {
    case VerificationCheck.ENABLED:
      return { text: "enable it", fields: { enabled: true } };
    case VerificationCheck.EXPIRY:
      return { text: "let it never expire", fields: { expires: { kind: { case: "null", value: NullValue.NULL_VALUE } } } };
    case VerificationCheck.PERMISSIONS:
      return grantMissing(permissions, situation, call);
    case VerificationCheck.RATELIMITS:
      return raiseLimits(situation);
    case VerificationCheck.CREDITS:
      return addCredits(situation);
    default:
      return undefined;
  }
};

/** One call of updateKey that changes all that fails. */
const byUpdateKey = async (
  permissions: SuggestChangesDeps["permissions"],
  situation: Situation,
  failed: ReadonlySet<VerificationCheck>,
  call: Call,
): Promise<Suggestion | undefined> => {
  const changes = await Promise.all([...failed].map((check) => keyChange(permissions, situation, check, call)));
  const possible = changes.filter((change) => change !== undefined);
  if (possible.length < changes.length) return undefined;
  const fields: KeyFields = Object.assign({}, ...possible.map((change) => change.fields));
  return { text: `Change the key: ${possible.map(({ text }) => text).join("; ")}.`, updateKey: { ...fields, keyId: situation.key._id } };
};

const byUpdateApi = ({ api, circumstances: { remoteIp } }: Situation, failed: ReadonlySet<VerificationCheck>): Suggestion | undefined => {
  const address = remoteIp === undefined ? undefined : parseNetwork(remoteIp);
  const listed = api.ipAllowlist ?? [];
  if (address === undefined || failed.size > 1 || !failed.has(VerificationCheck.IP_ALLOWLIST) || listed.length >= MOST_ADDRESSES)
    return undefined;
  return { text: `Put the address ${remoteIp} on the list of the API.`, updateApi: { apiId: api._id, ipAllowlist: [...listed, address] } };
};

/** When the limits have room again, if nobody uses them meanwhile. */
const limitsPassFrom = ({ limits, unknown, isAssumed }: Situation): number | undefined => {
  if (unknown.length > 0 || isAssumed) return undefined;
  let from = 0;
  for (const { passed, check, current, previous, now } of limits) {
    if (passed) continue;
    if (check.cost > check.limit) return undefined;
    const time = roomFrom(current, previous, check.limit - check.cost, now, check.duration, LAST_TIME);
    if (time === undefined) return undefined;
    from = Math.max(from, time);
  }
  return from;
};

/** When enough refills have come in. */
const creditsPassFrom = ({ entry, asked: { cost }, circumstances: { receivedAt: at } }: Situation): number | undefined => {
  const { refill, refilledAt } = entry;
  if (refill === undefined || refilledAt === undefined) return undefined;
  const missing = cost - (balanceAt(entry, at) ?? cost);
  return instantAfter(refill, Math.max(at, refilledAt), Math.ceil(missing / refill.amount));
};

/** The time at which what fails now passes by itself. */
const byWaiting = (situation: Situation, failed: ReadonlySet<VerificationCheck>): Suggestion | undefined => {
  let from = 0;
  for (const check of failed) {
    const time =
      check === VerificationCheck.RATELIMITS
        ? limitsPassFrom(situation)
        : check === VerificationCheck.CREDITS
          ? creditsPassFrom(situation)
          : undefined;
    // Not a number: beyond all dates.
    if (time === undefined || !(time <= LAST_TIME)) return undefined;
    from = Math.max(from, time);
  }
  if (hasExpired(situation.entry, from)) return undefined;
  return { text: `It passes again at ${timeText(from)}.`, at: BigInt(from) };
};

export interface SuggestChangesDeps {
  readonly permissions: Pick<PermissionsRepository, "findManyBySlug">;
}

/** Changes each of which alone would make the key pass (management §2, §8); none where no single call helps. */
export const suggestChanges = async (
  { permissions }: SuggestChangesDeps,
  situation: Situation,
  failed: ReadonlySet<VerificationCheck>,
  call: Call,
): Promise<Suggestion[]> => {
  if (failed.size === 0) return [];
  const suggestions = [
    await byUpdateKey(permissions, situation, failed, call),
    byUpdateApi(situation, failed),
    byWaiting(situation, failed),
  ];
  return suggestions.filter((suggestion) => suggestion !== undefined);
};
