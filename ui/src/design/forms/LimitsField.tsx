import type { JSX } from "preact";
import { useContext, useId } from "preact/hooks";
import { Button } from "../actions/Button.tsx";
import { Checkbox } from "./Checkbox.tsx";
import { FormViolations, violationText } from "./formErrors.ts";
import { TextField } from "./TextField.tsx";
import { newLimit, type TypedLimit } from "./typedLimit.ts";
import "./limits.css";

export interface LimitsFieldProps {
  /** "Shared limits". */
  readonly label: string;
  readonly limits: readonly TypedLimit[];
  readonly onChange: (limits: readonly TypedLimit[]) => void;
}

/** The complete list of rate limits of an identity, a row each. */
export const LimitsField = ({ label, limits, onChange }: LimitsFieldProps): JSX.Element => {
  const id = useId();
  const own = useContext(FormViolations).filter(({ location }) => location.replace(/^body\.?/, "") === "ratelimits");
  const set = (index: number, change: Partial<TypedLimit>): void =>
    onChange(limits.map((limit, at) => (at === index ? { ...limit, ...change } : limit)));
  return (
    <div class="limits" role="group" aria-labelledby={id}>
      <p id={id} class="group-label">
        {label}
      </p>
      {limits.map((limit, index) => {
        const name = `ratelimits[${index}]`;
        return (
          // Rows have no id of their own: a name is being typed.
          <div key={name} class="limit-row" role="group" aria-label={`Limit ${index + 1}`}>
            <TextField label="Limit name" name={`${name}.name`} value={limit.name} onChange={(value) => set(index, { name: value })} />
            <TextField label="Limit" name={`${name}.limit`} value={limit.limit} onChange={(value) => set(index, { limit: value })} />
            <TextField
              label="Duration, ms"
              name={`${name}.duration`}
              value={limit.duration}
              onChange={(value) => set(index, { duration: value })}
            />
            <Checkbox
              label="At every verification"
              name={`${name}.autoApply`}
              checked={limit.autoApply}
              onChange={(autoApply) => set(index, { autoApply })}
            />
            <Button label={`Remove limit ${index + 1}`} onClick={() => onChange(limits.filter((_, at) => at !== index))}>
              Remove
            </Button>
          </div>
        );
      })}
      {own.length > 0 && (
        <ul class="problems">
          {own.map((violation) => (
            <li key={violation.message}>{violationText(violation, "ratelimits")}</li>
          ))}
        </ul>
      )}
      <div class="actions">
        <Button onClick={() => onChange([...limits, newLimit])}>Add a limit</Button>
      </div>
    </div>
  );
};
