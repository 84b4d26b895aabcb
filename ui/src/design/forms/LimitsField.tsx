import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import { type LimitDraft, newLimit } from "../../data/drafts/limitDraft.ts";
import { readDuration, readInteger } from "../../data/readInput.ts";
import { Button } from "../actions/Button.tsx";
import { Checkbox } from "./Checkbox.tsx";
import { FormViolations, violationText } from "./formErrors.ts";
import { TextField } from "./TextField.tsx";

export interface LimitsFieldProps {
  /** The JSON name of the contract: `ratelimits`; fields are `ratelimits[0].name`, as violations name them. */
  readonly name: string;
  readonly value: readonly LimitDraft[];
  readonly onChange: (value: readonly LimitDraft[]) => void;
}

/** Rate limits of a key or an identity: any number of rows. */
export const LimitsField = ({ name, value, onChange }: LimitsFieldProps): JSX.Element => {
  const change = (at: number, part: Partial<LimitDraft>): void =>
    onChange(value.map((limit, index) => (index === at ? { ...limit, ...part } : limit)));
  const ofAll = useContext(FormViolations).filter(({ location }) => location === `body.${name}`);
  return (
    <div class="limits-field">
      {ofAll.length > 0 && (
        <ul class="problems">
          {ofAll.map((violation) => (
            <li key={violation.message}>{violationText(violation, name)}</li>
          ))}
        </ul>
      )}
      {value.map((limit, index) => (
        // A row has no name of its own while it is typed: its place is what it is known by.
        <fieldset key={index} class="limit-row">
          <legend>Rate limit {index + 1}</legend>
          <TextField
            label="Limit name"
            name={`${name}[${index}].name`}
            value={limit.name}
            onChange={(typed) => change(index, { name: typed })}
          />
          <TextField
            label="Limit"
            name={`${name}[${index}].limit`}
            value={limit.limit}
            onChange={(typed) => change(index, { limit: typed })}
            error={readInteger(limit.limit) === "invalid" ? "A whole number." : undefined}
          />
          <TextField
            label="Duration"
            name={`${name}[${index}].duration`}
            value={limit.duration}
            onChange={(typed) => change(index, { duration: typed })}
            error={readDuration(limit.duration) === "invalid" ? "90s, 15m, 24h, 30d or milliseconds." : undefined}
            hint="15m, 24h, or ms"
          />
          <Checkbox
            label="Always checked"
            name={`${name}[${index}].autoApply`}
            checked={limit.autoApply}
            onChange={(autoApply) => change(index, { autoApply })}
          />
          <Button label={`Remove limit ${index + 1}`} onClick={() => onChange(value.filter((_, at) => at !== index))}>
            Remove
          </Button>
        </fieldset>
      ))}
      <div class="actions">
        <Button onClick={() => onChange([...value, newLimit])}>Add limit</Button>
      </div>
    </div>
  );
};
