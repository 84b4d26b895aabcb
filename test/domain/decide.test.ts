import { describe, expect, test } from "vitest";
import { grantPermissions, parsePermissionQuery } from "../../src/features/permissions/permissionQuery.ts";
import { type Answers, decide, decideAfter, decideKnowing, STEPS, type Step, verdictOn } from "../../src/features/verification/decide.ts";
import type { Circumstances, VerifiableKey, VerificationRequest } from "../../src/features/verification/verifiable.ts";
import { compileGrants } from "../../src/platform/authorization/authorization.ts";
import { compileIpAllowlist } from "../../src/platform/base/ipAllowlist.ts";

const NOW = 1_000_000;

interface Situation {
  readonly key: VerifiableKey;
  readonly request: VerificationRequest;
  readonly circumstances: Circumstances;
  readonly answers: Answers;
}

interface Changes {
  readonly key?: Partial<VerifiableKey>;
  readonly request?: Partial<VerificationRequest>;
  readonly circumstances?: Partial<Circumstances>;
  readonly answers?: Partial<Answers>;
}

/** Every step has something to check, and all of them pass. */
const passing: Situation = {
  key: {
    apiId: "api_1",
    enabled: true,
    expiredFrom: NOW + 1,
    ipAllowlist: compileIpAllowlist(["192.0.2.0/24"]),
    permissions: grantPermissions(["docs.read"]),
    autoApplied: [{}],
    remaining: 5,
  },
  request: { keyspaces: ["api_1"], query: parsePermissionQuery("docs.read"), limits: [], cost: 1 },
  circumstances: { caller: { grants: compileGrants(["api.api_1.verify_key"]) }, remoteIp: "192.0.2.7", receivedAt: NOW },
  answers: { ratelimits: true, credits: true },
};

/** No step has anything to check but whether the key is there for the caller, and enabled. */
const plain: Situation = {
  key: { ...passing.key, expiredFrom: undefined, ipAllowlist: undefined, autoApplied: [], remaining: undefined },
  request: { keyspaces: undefined, query: undefined, limits: [], cost: 1 },
  circumstances: { ...passing.circumstances, remoteIp: undefined },
  answers: { ratelimits: false, credits: false },
};

const changed = (situation: Situation, ...changes: readonly Changes[]): Situation => {
  const part = <K extends keyof Situation>(name: K): Situation[K] =>
    Object.assign({}, situation[name], ...changes.map((change) => change[name]));
  return { key: part("key"), request: part("request"), circumstances: part("circumstances"), answers: part("answers") };
};

/** In the order of decision: the cause that makes a step fail, and the code of the verification. */
const failures: readonly (readonly [Step, string, Changes])[] = [
  ["api", "NOT_FOUND", { request: { keyspaces: ["api_2"] } }],
  ["enabled", "DISABLED", { key: { enabled: false } }],
  ["expiry", "EXPIRED", { key: { expiredFrom: NOW } }],
  ["ipAllowlist", "FORBIDDEN", { circumstances: { remoteIp: "203.0.113.9" } }],
  ["permissions", "INSUFFICIENT_PERMISSIONS", { request: { query: "docs.write" } }],
  ["ratelimits", "RATE_LIMITED", { answers: { ratelimits: false } }],
  ["credits", "USAGE_EXCEEDED", { answers: { credits: false } }],
];

const pairs = failures.flatMap(([first, code, one], i) =>
  failures.slice(i + 1).map(([second, , other]) => [first, second, code, one, other] as const),
);

const decided = ({ key, request, circumstances, answers }: Situation) => decideKnowing(answers, key, request, circumstances);
const verdict = (step: Step, { key, request, circumstances, answers }: Situation) => verdictOn(step, answers, key, request, circumstances);

/** Decides as the engine does: answers each open step and continues. Also returns the steps it answered. */
const asking = ({ key, request, circumstances, answers }: Situation) => {
  const asked: Step[] = [];
  let decision = decide(key, request, circumstances);
  while (decision.tag === "open") {
    asked.push(decision.step);
    decision = decideAfter(decision.step, answers[decision.step], key, request, circumstances);
  }
  return { asked, decision };
};

describe("[verify §6] the steps of a verification", () => {
  test("come in the order of decision", () => {
    expect(STEPS).toEqual(failures.map(([step]) => step));
  });

  test("all pass: VALID", () => {
    expect(decided(passing)).toEqual({ tag: "valid", step: undefined, code: "VALID" });
    expect(STEPS.map((step) => verdict(step, passing))).toEqual(STEPS.map(() => "passed"));
  });

  test("have nothing to check where neither key nor request sets anything: VALID, without any question", () => {
    expect(asking(plain)).toEqual({ asked: [], decision: { tag: "valid", step: undefined, code: "VALID" } });
    expect(STEPS.map((step) => verdict(step, plain))).toEqual(["passed", "passed", ...Array<string>(5).fill("skipped")]);
  });

  test.each(failures)("%s fails alone: %s", (step, code, failure) => {
    const situation = changed(passing, failure);
    expect(decided(situation)).toEqual({ tag: "denied", step, code });
    expect(STEPS.filter((each) => verdict(each, situation) === "failed")).toEqual([step]);
  });

  test.each(pairs)("%s fails before %s: %s", (first, second, code, one, other) => {
    for (const situation of [changed(passing, one, other), changed(passing, other, one)]) {
      expect(STEPS.filter((each) => verdict(each, situation) === "failed")).toEqual([first, second]);
      expect(decided(situation)).toEqual({ tag: "denied", step: first, code });
      expect(asking(situation).decision).toBe(decided(situation));
    }
  });

  test("all fail: every one says so by itself, and the first decides", () => {
    const situation = changed(passing, ...failures.map(([, , failure]) => failure));
    expect(STEPS.map((step) => verdict(step, situation))).toEqual(STEPS.map(() => "failed"));
    expect(decided(situation).code).toBe("NOT_FOUND");
  });
});

describe("[verify §6] the checks that are asked for", () => {
  test.each(failures.slice(0, 5))("no question where %s fails, whatever the answer would be", (step, code, failure) => {
    expect(asking(changed(passing, failure))).toEqual({ asked: [], decision: { tag: "denied", step, code } });
  });

  test.each([
    ["counters, then the balance", passing, ["ratelimits", "credits"], "VALID"],
    ["not the balance of a rate-limited call", changed(passing, { answers: { ratelimits: false } }), ["ratelimits"], "RATE_LIMITED"],
    [
      "counters before a balance that does not cover it",
      changed(passing, { answers: { credits: false } }),
      ["ratelimits", "credits"],
      "USAGE_EXCEEDED",
    ],
    ["counters alone for a key with unlimited credits", changed(passing, { key: { remaining: undefined } }), ["ratelimits"], "VALID"],
    ["the balance alone where no limit is checked", changed(passing, { key: { autoApplied: [] } }), ["credits"], "VALID"],
    ["the balance, also when it is 0", changed(plain, { key: { remaining: 0 } }), ["credits"], "USAGE_EXCEEDED"],
    [
      "counters of limits that only the request names",
      changed(plain, { request: { limits: [{ name: "requests", cost: 1, limit: 1, duration: 1_000 }] } }),
      ["ratelimits"],
      "RATE_LIMITED",
    ],
  ])("%s", (_, situation, asked, code) => {
    expect(asking(situation)).toMatchObject({ asked, decision: { code } });
    expect(decided(situation).code).toBe(code);
  });
});

describe("[verify §6] single steps", () => {
  test.each([
    ["no live key", null, {}],
    ["an API for which the caller may not verify", passing.key, { caller: { grants: compileGrants(["api.api_2.verify_key"]) } }],
    ["a caller that holds another permission for it", passing.key, { caller: { grants: compileGrants(["api.api_1.read_key"]) } }],
  ])("NOT_FOUND: %s", (_, key, circumstances) => {
    const decision = decide(key, passing.request, { ...passing.circumstances, ...circumstances });
    expect(decision).toEqual({ tag: "denied", step: "api", code: "NOT_FOUND" });
  });

  test.each([
    ["it has expired", NOW, "failed"],
    ["it expires at the next millisecond", NOW + 1, "passed"],
    ["it never expires", undefined, "skipped"],
  ])("expiry: %s", (_, expiredFrom, expected) => {
    expect(verdict("expiry", changed(passing, { key: { expiredFrom } }))).toBe(expected);
  });

  test("[verify §9] ipAllowlist: without an address a list allows no call", () => {
    expect(verdict("ipAllowlist", changed(passing, { circumstances: { remoteIp: undefined } }))).toBe("failed");
    expect(verdict("ipAllowlist", changed(plain, { circumstances: { remoteIp: undefined } }))).toBe("skipped");
  });
});
