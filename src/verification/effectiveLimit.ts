import { byName, type LimitCheck } from "./limitCheck.ts";

/** A stored limit as it applies to one key, and its check with cost 1 (verify §5). */
export interface EffectiveLimit extends LimitCheck {
  /** Counts for all keys of the identity together. */
  readonly ofIdentity: boolean;
}

/** Name of a limit's counter. Limits of a key and inline limits count per key, those of an identity per identity. */
export const limitCounterKey = (scope: "key" | "identity", subjectId: string, duration: number, name: string): string =>
  `${scope}:${subjectId}:${duration}:${name}`;

/** The limits that apply to every verification of a key, with cost 1, by name. */
export const autoAppliedChecks = (limits: readonly EffectiveLimit[]): readonly LimitCheck[] =>
  // A filtered array has room for more; thousands of them are cached.
  limits
    .filter((limit) => limit.autoApply)
    .sort(byName)
    .slice();
