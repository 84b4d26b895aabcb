import { describe, expect, test } from "vitest";
import { type FailedRun, kindOfFailure, type Recovery, recoveryOf } from "../../src/features/idempotency/recovery.ts";
import { ServiceError } from "../../src/platform/base/errors.ts";

test.each([
  ["insufficient_permissions", "forbidden"],
  ["invalid_input", "refused"],
  ["permission_already_exists", "refused"],
  ["precondition_failed", "refused"],
  // The work may have been done all the same.
  ["request_timeout", "unsure"],
  ["client_closed_request", "unsure"],
  ["service_unavailable", "unsure"],
  ["unexpected_error", "unsure"],
] as const)("%s leaves a run %s", (reason, kind) => {
  expect(kindOfFailure(new ServiceError(reason, "failed"))).toBe(kind);
});

const errors = ["refused", "forbidden", "unsure"] as const;
const either = [true, false];

/** Every combination that the given facts leave open. */
const casesOf = (facts: Partial<FailedRun>): FailedRun[] => {
  const { error, change, answerKnown, resumed } = facts;
  const cases: FailedRun[] = [];
  for (const e of error ? [error] : errors) {
    for (const c of change ? [change] : (["notBegun", "written", "notWritten", "unknown"] as const)) {
      for (const a of answerKnown === undefined ? either : [answerKnown]) {
        for (const r of resumed === undefined ? either : [resumed]) cases.push({ error: e, change: c, answerKnown: a, resumed: r });
      }
    }
  }
  return cases;
};

const table: readonly (readonly [Partial<FailedRun>, Recovery])[] = [
  [{ change: "notBegun", error: "refused" }, "compare"],
  [{ change: "notBegun", error: "forbidden" }, "fail"],
  [{ change: "notBegun", error: "unsure" }, "fail"],
  [{ change: "written", answerKnown: true }, "complete"],
  [{ change: "written", answerKnown: false, resumed: false }, "lookAgain"],
  [{ change: "written", answerKnown: false, resumed: true }, "fail"],
  [{ change: "notWritten", error: "refused" }, "free"],
  [{ change: "notWritten", error: "forbidden" }, "free"],
  [{ change: "notWritten", error: "unsure" }, "fail"],
  // Not knowing is treated like having written: a repeat will find out.
  [{ change: "unknown" }, "fail"],
];

describe("[protocol §2] the fate of a failed run", () => {
  test.each(table)("%j: %s", (facts, recovery) => {
    for (const failed of casesOf(facts)) expect(recoveryOf(failed), JSON.stringify(failed)).toBe(recovery);
  });

  test("the table covers every case once", () => {
    const covered = table.flatMap(([facts]) => casesOf(facts).map((failed) => JSON.stringify(failed)));
    expect(covered.sort()).toEqual(
      casesOf({})
        .map((failed) => JSON.stringify(failed))
        .sort(),
    );
  });
});
