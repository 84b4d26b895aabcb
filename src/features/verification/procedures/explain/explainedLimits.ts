import type { Call } from "../../../calls/call.ts";
import type { Limiter } from "../../../ratelimit/limiter.ts";
import { emptyPeek, type Peek } from "../../../ratelimit/peek.ts";
import type { LimitCheck } from "../../limitCheck.ts";
import { limitChecks, unknownLimits } from "../../limitChecks.ts";
import type { RequestedLimit } from "../../verifiable.ts";
import type { VerificationEntry } from "../../verificationEntry.ts";

/** One limit that a verification would check, and what it would say. */
export interface ExplainedLimit extends Peek {
  readonly check: LimitCheck;
  readonly source: "key" | "identity" | "request";
}

export interface ExplainedLimits {
  /** By name; in a verification all of them have to pass. */
  readonly limits: readonly ExplainedLimit[];
  /** What the request names and nothing defines. */
  readonly unknown: readonly string[];
}

const sourceOf = (entry: VerificationEntry, { id, name }: LimitCheck): ExplainedLimit["source"] => {
  if (id === "") return "request";
  return entry.limits.find((limit) => limit.name === name)?.ofIdentity === true ? "identity" : "key";
};

/**
 * The limits that a verification would check (verify §5). Their counters are read, none is charged; where another time is
 * asked about they are taken for empty. 412 exactly where verifyKey answers it.
 *
 * @param isDenied an earlier step fails, so that verifyKey would not come to the limits.
 * @param assumedAt the other time, Unix ms.
 */
export const explainLimits = async (
  { limiter }: { readonly limiter: Pick<Limiter, "peek"> },
  entry: VerificationEntry,
  requested: readonly RequestedLimit[],
  isDenied: boolean,
  assumedAt: number | undefined,
  call: Call,
): Promise<ExplainedLimits> => {
  const unknown = isDenied ? unknownLimits(entry, requested) : [];
  if (unknown.length > 0) return { limits: [], unknown };
  const checks = limitChecks(entry, requested);
  const peeks = assumedAt === undefined ? await limiter.peek(checks, call) : checks.map((check) => emptyPeek(check, assumedAt));
  const limits = checks.map((check, i) => ({ ...(peeks[i] as Peek), check, source: sourceOf(entry, check) }));
  return { limits, unknown: [] };
};
