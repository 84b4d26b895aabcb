import { ServiceError } from "../../platform/base/errors.ts";
import { limitCounterKey } from "../ratelimit/counterKey.ts";
import { byName, type LimitCheck } from "./limitCheck.ts";
import type { RequestedLimit } from "./verifiable.ts";
import type { VerificationEntry } from "./verificationEntry.ts";

const unknownLimit = (name: string, { keyId, identity }: VerificationEntry): ServiceError => {
  const owner = identity ? `the identity ${identity.id} (external id ${identity.externalId})` : "no identity";
  return new ServiceError(
    "precondition_failed",
    `The rate limit ${name} was requested, but neither the key ${keyId} nor its identity has it; the key has ${owner}. Define it, or send limit and duration.`,
  );
};

const requestedCheck = (entry: VerificationEntry, { name, cost, limit, duration }: RequestedLimit): LimitCheck => {
  if (limit !== undefined && duration !== undefined) {
    return {
      id: "",
      name,
      autoApply: false,
      key: limitCounterKey("key", entry.keyId, duration, name),
      limit,
      duration,
      cost,
      written: undefined,
      answered: false,
    };
  }
  const stored = entry.limits.find((candidate) => candidate.name === name);
  if (stored === undefined) throw unknownLimit(name, entry);
  const { id, autoApply, ofIdentity } = stored;
  const usedDuration = duration ?? stored.duration;
  const key = ofIdentity
    ? limitCounterKey("identity", entry.identity?.id ?? "", usedDuration, name)
    : limitCounterKey("key", entry.keyId, usedDuration, name);
  return { id, name, autoApply, key, limit: limit ?? stored.limit, duration: usedDuration, cost, written: undefined, answered: false };
};

const lastOfName = (requested: readonly RequestedLimit[]): ReadonlyMap<string, RequestedLimit> =>
  new Map(requested.map((item) => [item.name, item]));

/** The names of requested limits that nothing defines: `limitChecks` refuses them. */
export const unknownLimits = ({ limits }: VerificationEntry, requested: readonly RequestedLimit[]): readonly string[] => {
  const isComplete = ({ limit, duration }: RequestedLimit): boolean => limit !== undefined && duration !== undefined;
  const isKnown = (name: string): boolean => limits.some((limit) => limit.name === name);
  return [...lastOfName(requested)].flatMap(([name, item]) => (isComplete(item) || isKnown(name) ? [] : [name]));
};

/**
 * The limits of one call, by name (verify §5): the auto-applied ones, and those that the request names, of which a
 * later item of a name replaces an earlier one. 412 `precondition_failed` for a name that nothing defines.
 */
export const limitChecks = (entry: VerificationEntry, requested: readonly RequestedLimit[]): readonly LimitCheck[] => {
  if (requested.length === 0) return entry.autoApplied;
  const checks = new Map(entry.autoApplied.map((check) => [check.name, check]));
  for (const [name, item] of lastOfName(requested)) checks.set(name, requestedCheck(entry, item));
  return [...checks.values()].sort(byName);
};
