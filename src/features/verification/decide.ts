import { allows } from "../../platform/authorization/authorization.ts";
import { satisfies } from "../permissions/permissionQuery.ts";
import type { Circumstances, VerifiableKey, VerificationRequest } from "./verifiable.ts";

/** The steps 5 to 11 of verify §6 in their order: the first that fails decides. */
export const STEPS: readonly Step[] = ["api", "enabled", "expiry", "ipAllowlist", "permissions", "ratelimits", "credits"];
export type Step = "api" | "enabled" | "expiry" | "ipAllowlist" | "permissions" | AskedStep;
/** Steps on which the key and the request alone say nothing: counters and the balance have to be asked, and pay. */
export type AskedStep = "ratelimits" | "credits";

type DenialCode = "NOT_FOUND" | "DISABLED" | "EXPIRED" | "FORBIDDEN" | "INSUFFICIENT_PERMISSIONS" | "RATE_LIMITED" | "USAGE_EXCEEDED";
/** What a verification may come to (verify §3). */
export type OutcomeCode = "VALID" | DenialCode;

/** The code with which a verification ends that fails at this step. */
const CODES: Readonly<Record<Step, DenialCode>> = {
  api: "NOT_FOUND",
  enabled: "DISABLED",
  expiry: "EXPIRED",
  ipAllowlist: "FORBIDDEN",
  permissions: "INSUFFICIENT_PERMISSIONS",
  ratelimits: "RATE_LIMITED",
  credits: "USAGE_EXCEEDED",
};

/** What one step says by itself; `skipped`: there is nothing to check. */
export type Verdict = "passed" | "failed" | "skipped";

/** Which of the steps that have to be asked pass. */
export type Answers = Readonly<Record<AskedStep, boolean>>;

/** How a verification ends. */
export type Outcome =
  | { readonly tag: "valid"; readonly step: undefined; readonly code: "VALID" }
  /** `step` is the first that fails. */
  | { readonly tag: "denied"; readonly step: Step; readonly code: DenialCode };

/** What is decided so far. There is one object of each, so that a decision takes no memory. */
export type Decision =
  | Outcome
  /** All steps before `step` have passed, and now it has to be asked. */
  | { readonly tag: "open"; readonly step: AskedStep; readonly code: undefined };

/** @param time Unix ms; a key whose `expires` it is still verifies, unless it was rerolled away (verify §6 step 7). */
export const hasExpired = ({ expiredFrom }: Pick<VerifiableKey, "expiredFrom">, time: number): boolean =>
  expiredFrom !== undefined && time >= expiredFrom;

/** Whether the call may know of keys of this API (verify §1, §6 step 5). */
export const isVisible = (apiId: string, { keyspaces }: Pick<VerificationRequest, "keyspaces">, { caller }: Circumstances): boolean =>
  (keyspaces === undefined || keyspaces.includes(apiId)) && allows(caller, "api.verify_key", apiId);

const passes = (isPassed: boolean): Verdict => (isPassed ? "passed" : "failed");

/** What a step says by itself; a table of functions would be slower, and this is on the way of every verification. */
const judge = (step: Step, key: VerifiableKey, request: VerificationRequest, circumstances: Circumstances): Verdict | "open" => {
  switch (step) {
    case "api":
      return passes(isVisible(key.apiId, request, circumstances));
    case "enabled":
      return passes(key.enabled);
    case "expiry":
      return key.expiredFrom === undefined ? "skipped" : passes(!hasExpired(key, circumstances.receivedAt));
    case "ipAllowlist":
      return key.ipAllowlist === undefined ? "skipped" : passes(key.ipAllowlist.allows(circumstances.remoteIp));
    case "permissions":
      return request.query === undefined ? "skipped" : passes(satisfies(key.permissions, request.query));
    case "ratelimits":
      return key.autoApplied.length + request.limits.length === 0 ? "skipped" : "open";
    case "credits":
      return key.remaining === undefined ? "skipped" : "open";
  }
};

const VALID: Outcome = { tag: "valid", step: undefined, code: "VALID" };
const DENIED = Object.fromEntries(STEPS.map((step) => [step, { tag: "denied", step, code: CODES[step] }])) as Readonly<
  Record<Step, Outcome>
>;
const OPEN: Readonly<Record<AskedStep, Decision>> = {
  ratelimits: { tag: "open", step: "ratelimits", code: undefined },
  credits: { tag: "open", step: "credits", code: undefined },
};

/** Where the steps behind those that are asked begin. */
const BEHIND: Readonly<Record<AskedStep, number>> = {
  ratelimits: STEPS.indexOf("ratelimits") + 1,
  credits: STEPS.indexOf("credits") + 1,
};

/** The first step from `place` on that fails or has to be asked. */
const decideFrom = (place: number, key: VerifiableKey, request: VerificationRequest, circumstances: Circumstances): Decision => {
  for (let i = place; i < STEPS.length; i++) {
    const step = STEPS[i] as Step;
    const verdict = judge(step, key, request, circumstances);
    if (verdict === "failed") return DENIED[step];
    if (verdict === "open") return OPEN[step as AskedStep];
  }
  return VALID;
};

/**
 * Decides a verification (verify §6, steps 5 to 12) by the first step that fails. It stays open at the first that has to
 * be asked, and `decideAfter` goes on from there. A limit that nothing defines is a 412 of those who ask, at that step.
 *
 * @param key null: there is no live key.
 */
export const decide = (key: VerifiableKey | null, request: VerificationRequest, circumstances: Circumstances): Decision =>
  key === null ? DENIED.api : decideFrom(0, key, request, circumstances);

/** Goes on behind a step that was open and has been asked. */
export const decideAfter = (
  step: AskedStep,
  isPassed: boolean,
  key: VerifiableKey,
  request: VerificationRequest,
  circumstances: Circumstances,
): Decision => (isPassed ? decideFrom(BEHIND[step], key, request, circumstances) : DENIED[step]);

/** The same decision, where it is known beforehand what will be answered. */
export const decideKnowing = (
  answers: Answers,
  key: VerifiableKey,
  request: VerificationRequest,
  circumstances: Circumstances,
): Outcome => {
  let decision = decide(key, request, circumstances);
  while (decision.tag === "open") decision = decideAfter(decision.step, answers[decision.step], key, request, circumstances);
  return decision;
};

/** What one step says by itself, also when an earlier one fails. */
export const verdictOn = (
  step: Step,
  answers: Answers,
  key: VerifiableKey,
  request: VerificationRequest,
  circumstances: Circumstances,
): Verdict => {
  const verdict = judge(step, key, request, circumstances);
  return verdict === "open" ? passes(answers[step as AskedStep]) : verdict;
};
