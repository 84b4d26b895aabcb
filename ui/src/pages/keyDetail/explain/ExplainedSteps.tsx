import type { JSX } from "preact";
import {
  CheckOutcome,
  CheckOutcomeSchema,
  type ExplainData,
  type ExplainedStep,
  VerificationCheckSchema,
  VerificationCodeSchema,
} from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { enumName } from "../../../data/code/enumName.ts";
import { DataTable } from "../../../design/tables/DataTable.tsx";
import { limitColumns } from "../../../design/tables/limitColumns.tsx";
import { OutcomeBadge } from "../../../design/values/OutcomeBadge.tsx";
import { Time } from "../../../design/values/Time.tsx";
import { grantText } from "../overview/PermissionsSection.tsx";

const Outcome = ({ outcome }: Pick<ExplainedStep, "outcome">): JSX.Element =>
  outcome === CheckOutcome.SKIPPED ? (
    <span class="badge quiet">
      <span aria-hidden="true">–</span> skipped
    </span>
  ) : (
    <OutcomeBadge outcome={enumName(CheckOutcomeSchema, outcome)} />
  );

const Facts = ({ facts }: Pick<ExplainedStep, "facts">): JSX.Element | null => {
  if (facts === undefined) return null;
  const { permissions, ratelimits, assumed } = facts;
  return (
    <>
      {permissions.length > 0 && (
        <ul class="grants">
          {permissions.map(({ permission, grantedBy, missing }) => (
            <li key={permission}>
              <code>{permission}</code>:{" "}
              {missing === true ? "missing" : `by ${grantedBy.map((grant) => grantText(grant, permission)).join("; ")}`}
            </li>
          ))}
        </ul>
      )}
      {ratelimits.length > 0 && <DataTable label="Explained limits" columns={limitColumns} rows={ratelimits} rowKey={({ name }) => name} />}
      {assumed === true && <p class="quiet">At another time limits are taken for unused.</p>}
    </>
  );
};

/** The answer that a verification would give, and each check in the order of decision. */
export const ExplainedSteps = ({ explained: { code, at, steps } }: { readonly explained: ExplainData }): JSX.Element => (
  <section class="answer" aria-label="Explanation">
    <p class="verdict" role="status">
      <OutcomeBadge outcome={enumName(VerificationCodeSchema, code)} />{" "}
      <span class="quiet">
        at <Time at={at} />
      </span>
    </p>
    <ol class="steps">
      {steps.map(({ check, outcome, detail, facts }) => (
        <li key={check} class={outcome === CheckOutcome.FAILED ? "failed" : ""}>
          <div class="step-line">
            <code>{enumName(VerificationCheckSchema, check)}</code>
            <Outcome outcome={outcome} />
          </div>
          <p>{detail}</p>
          <Facts facts={facts} />
        </li>
      ))}
    </ol>
  </section>
);
