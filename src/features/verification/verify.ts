import { type Caller, permits } from "../../platform/authorization/authorization.ts";
import type { Behalf } from "../../platform/base/behalf.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Cached } from "../../platform/cache/cacheEntry.ts";
import { hashKey } from "../../platform/secrets/keySecret.ts";
import type { Analytics } from "../analytics/createAnalytics.ts";
import type { CreditSpender } from "../keys/creditSpender.ts";
import { balanceAt, bringInRefills } from "../keys/refill.ts";
import type { CheckResult, Limiter, Decision as LimiterDecision } from "../ratelimit/limiter.ts";
import { type Decision, decide, decideAfter, isVisible, type OutcomeCode } from "./decide.ts";
import type { FailureBudget } from "./failureBudget.ts";
import type { LastUsed } from "./lastUsed.ts";
import type { LimitCheck } from "./limitCheck.ts";
import { limitChecks } from "./limitChecks.ts";
import type { MigrateOnUse } from "./migrateOnUse.ts";
import type { Circumstances, VerificationRequest } from "./verifiable.ts";
import type { VerificationCache } from "./verificationCache.ts";
import type { VerificationEntry } from "./verificationEntry.ts";

export interface VerifyDeps {
  readonly verifications: Pick<VerificationCache, "get" | "has">;
  readonly limiter: Pick<Limiter, "check">;
  readonly credits: Pick<CreditSpender, "spend">;
  readonly migrate: MigrateOnUse;
  readonly lastUsed: Pick<LastUsed, "mark">;
  readonly failures: FailureBudget;
  /** Counts an outcome by its code. */
  readonly onOutcome: (code: OutcomeCode) => void;
  readonly clock: Clock;
  readonly analytics: Pick<Analytics, "recordVerification"> | undefined;
}

/** A verification that is asked for. */
export interface AskedVerification extends VerificationRequest {
  /** The presented key, compared exactly. */
  readonly secret: string;
  /** Undefined or empty: a key that is not found is not looked for further (verify §8). */
  readonly migrationId: string | undefined;
  readonly tags: readonly string[];
}

/** The call that asks for it. */
export interface VerifyingCall extends Behalf, Circumstances {
  readonly caller: Caller;
  readonly requestId: string;
  /** `receivedAt` on the monotonic clock. */
  readonly startedAt: number;
}

/** The limits that were checked, and what became of each. */
export interface CheckedLimits {
  readonly checks: readonly LimitCheck[];
  readonly results: readonly CheckResult[];
}

/**
 * Makes the answer of an outcome.
 * @param entry undefined exactly for `NOT_FOUND`, of which nothing else may be told.
 * @param balance undefined = unlimited.
 * @param limits undefined: none was checked.
 */
export type Show<T> = (
  code: OutcomeCode,
  entry: VerificationEntry | undefined,
  balance: number | undefined,
  limits: CheckedLimits | undefined,
) => T;

/** Rejects or throws with 412 `precondition_failed` for a limit that nothing defines, and as the store does when it is away. */
export type Verify<T> = (asked: AskedVerification, call: VerifyingCall) => T | Promise<T>;

/**
 * Verifies keys (verify §6): finds the key, warm if it can, asks the decision (`decide`), has the counters and the balance
 * charged where it is open, and records what it comes to. Whether the caller may verify anything at all was judged before.
 *
 * A warm verification is answered at once, without a turn of the microtask queue for each step, and makes few objects:
 * therefore the outcome goes to `show` instead of being returned, and functions that wait stand apart from those that call them.
 */
export const createVerify = <T>(deps: VerifyDeps, show: Show<T>): Verify<T> => {
  const { verifications, limiter, credits, migrate, lastUsed, failures, onOutcome, clock, analytics } = deps;

  const notFound = (): T => {
    onOutcome("NOT_FOUND");
    return show("NOT_FOUND", undefined, undefined, undefined);
  };

  /** The end of every verification of a key that was found (verify §10). */
  const conclude = (
    code: OutcomeCode,
    entry: VerificationEntry,
    asked: AskedVerification,
    call: VerifyingCall,
    limits: CheckedLimits | undefined,
    balance: number | undefined,
    spentCredits: number,
  ): T => {
    lastUsed.mark(entry.keyId, call.receivedAt);
    onOutcome(code);
    analytics?.recordVerification({
      requestId: call.requestId,
      time: clock.now(),
      apiId: entry.apiId,
      keyId: entry.keyId,
      identityId: entry.identity?.id ?? "",
      externalId: entry.identity?.externalId ?? "",
      outcome: code,
      tags: asked.tags,
      spentCredits,
      latency: clock.monotonic() - call.startedAt,
    });
    return show(code, entry, balance, limits);
  };

  /**
   * Asks whom the decision leaves to be asked; there is an outcome once it leaves nobody.
   * @param balance as the store has just said; undefined: as this node knows it.
   */
  const follow = (
    decision: Decision,
    entry: VerificationEntry,
    asked: AskedVerification,
    call: VerifyingCall,
    limits?: CheckedLimits,
    balance?: number,
    spentCredits = 0,
  ): T | Promise<T> => {
    if (decision.tag === "open") {
      return decision.step === "ratelimits" ? chargeLimits(entry, asked, call) : spendCredits(entry, asked, call, limits);
    }
    return conclude(decision.code, entry, asked, call, limits, balance ?? balanceAt(entry, call.receivedAt), spentCredits);
  };

  const afterLimits = (
    checks: readonly LimitCheck[],
    { passed, results }: LimiterDecision,
    entry: VerificationEntry,
    asked: AskedVerification,
    call: VerifyingCall,
  ): T | Promise<T> => follow(decideAfter("ratelimits", passed, entry, asked, call), entry, asked, call, { checks, results });

  const whenCharged = (
    checks: readonly LimitCheck[],
    charging: Promise<LimiterDecision>,
    entry: VerificationEntry,
    asked: AskedVerification,
    call: VerifyingCall,
  ): Promise<T> => charging.then((charged) => afterLimits(checks, charged, entry, asked, call));

  /** Step 10 of verify §6. */
  const chargeLimits = (entry: VerificationEntry, asked: AskedVerification, call: VerifyingCall): T | Promise<T> => {
    const checks = limitChecks(entry, asked.limits);
    const charged = limiter.check(checks, call.receivedAt, call);
    return charged instanceof Promise ? whenCharged(checks, charged, entry, asked, call) : afterLimits(checks, charged, entry, asked, call);
  };

  /** Step 11; only the store decides a spend. */
  const spendCredits = async (
    entry: VerificationEntry,
    asked: AskedVerification,
    call: VerifyingCall,
    limits: CheckedLimits | undefined,
  ): Promise<T> => {
    const time = { now: call.receivedAt, refillDue: bringInRefills(entry, call.receivedAt) !== undefined };
    const spent = await credits.spend(entry.keyId, asked.cost, time, call);
    if (spent.outcome === "gone") return notFound();
    if (spent.outcome === "unlimited") return conclude("VALID", entry, asked, call, limits, undefined, 0);
    entry.remaining = spent.balance;
    entry.refilledAt = spent.refilledAt;
    const isSpent = spent.outcome === "spent";
    const decision = decideAfter("credits", isSpent, entry, asked, call);
    return follow(decision, entry, asked, call, limits, spent.balance, isSpent ? asked.cost : 0);
  };

  const judge = (found: VerificationEntry | null, asked: AskedVerification, call: VerifyingCall): T | Promise<T> => {
    const decision = decide(found, asked, call);
    if (found === null) {
      failures.note(call.caller.rootKeyId);
      permits(call.caller, "api.verify_key", "*");
    }
    if (found === null || decision.step === "api") return notFound();
    call.caller.onPermitted?.("api.verify_key", found.apiId);
    return follow(decision, found, asked, call);
  };

  /** Tries whether the key is another system's, and becomes a key of ours by this use (verify §8). */
  const judgeMigrated = async (hash: string, asked: AskedVerification, call: VerifyingCall): Promise<T> => {
    const mayVerify = (apiId: string): boolean => isVisible(apiId, asked, call) && permits(call.caller, "api.verify_key", apiId);
    const isMigrated = await migrate(asked.secret, hash, asked.migrationId ?? "", mayVerify, call);
    return judge(isMigrated ? (await verifications.get(hash, call)).value : null, asked, call);
  };

  const judgeRead = (
    { value }: Cached<VerificationEntry | null>,
    hash: string,
    asked: AskedVerification,
    call: VerifyingCall,
  ): T | Promise<T> => (value === null && asked.migrationId ? judgeMigrated(hash, asked, call) : judge(value, asked, call));

  const whenRead = (
    reading: Promise<Cached<VerificationEntry | null>>,
    hash: string,
    asked: AskedVerification,
    call: VerifyingCall,
  ): Promise<T> => reading.then((read) => judgeRead(read, hash, asked, call));

  /** Reads when it is the call's turn, and lets the next one have it. */
  const readInTurn = async (turn: Promise<() => void>, hash: string, call: VerifyingCall): Promise<Cached<VerificationEntry | null>> => {
    const release = await turn;
    try {
      return await verifications.get(hash, call);
    } finally {
      release();
    }
  };

  return (asked, call) => {
    const hash = hashKey(asked.secret);
    const turn = verifications.has(hash) ? undefined : failures.turn(call.caller.rootKeyId);
    const read = turn === undefined ? verifications.get(hash, call) : readInTurn(turn, hash, call);
    return read instanceof Promise ? whenRead(read, hash, asked, call) : judgeRead(read, hash, asked, call);
  };
};
