import type { IdentityDocument, KeyDocument, StoredRatelimit } from "../../platform/storage/port/documents.ts";
import { limitCounterKey } from "../ratelimit/counterKey.ts";
import { byName, type LimitCheck } from "./limitCheck.ts";

/** A stored limit as it applies to one key, and its check with cost 1 (verify §5). */
export interface EffectiveLimit extends LimitCheck {
  /** Counts for all keys of the identity together. */
  readonly ofIdentity: boolean;
}

/** The stored limits that apply to one key (verify §5). */
export interface EffectiveLimits {
  /** Each name once: the key's, and those of the identity whose name no key limit has. */
  readonly limits: readonly EffectiveLimit[];
  /** Those of them that the identity has, in stored order. */
  readonly ofIdentity: readonly EffectiveLimit[];
  /** Those that every verification checks, by name. */
  readonly autoApplied: readonly LimitCheck[];
}

/** Most keys have none; they share the empty list. */
const NO_LIMITS: readonly EffectiveLimit[] = [];

const effectiveLimit = (
  { id, name, limit, duration, autoApply }: StoredRatelimit,
  scope: "key" | "identity",
  subjectId: string,
): EffectiveLimit => ({
  id,
  name,
  autoApply,
  key: limitCounterKey(scope, subjectId, duration, name),
  limit,
  duration,
  cost: 1,
  written: undefined,
  answered: false,
  ofIdentity: scope === "identity",
});

const autoAppliedChecks = (limits: readonly EffectiveLimit[]): readonly LimitCheck[] =>
  // A filtered array has room for more; thousands of them are cached.
  limits
    .filter((limit) => limit.autoApply)
    .sort(byName)
    .slice();

export const effectiveLimits = (
  key: Pick<KeyDocument, "_id" | "ratelimits">,
  identity: Pick<IdentityDocument, "_id" | "ratelimits"> | null,
): EffectiveLimits => {
  const own = key.ratelimits.map((limit) => effectiveLimit(limit, "key", key._id));
  const ofIdentity =
    identity?.ratelimits
      .filter(({ name }) => own.every((limit) => limit.name !== name))
      .map((limit) => effectiveLimit(limit, "identity", identity._id)) ?? NO_LIMITS;
  const limits = own.length + ofIdentity.length === 0 ? NO_LIMITS : [...own, ...ofIdentity];
  const autoApplied = autoAppliedChecks(limits);
  return { limits, ofIdentity, autoApplied: autoApplied.length === 0 ? NO_LIMITS : autoApplied };
};
