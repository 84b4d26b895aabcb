import type { JSX } from "preact";
import type { RefillDraft } from "../../data/drafts/refillDraft.ts";
import { readInteger } from "../../data/readInput.ts";
import { SelectField } from "./SelectField.tsx";
import { TextField } from "./TextField.tsx";

export interface RefillFieldProps {
  /** The JSON name of the contract: `credits.refill`. */
  readonly name: string;
  readonly value: RefillDraft;
  readonly onChange: (value: RefillDraft) => void;
}

const intervals = [
  { value: "daily", label: "Every day" },
  { value: "monthly", label: "Every month" },
] as const;

const notWhole = (text: string): string | undefined => (readInteger(text) === "invalid" ? "A whole number." : undefined);

/** How often credits are added, and how many. */
export const RefillField = ({ name, value, onChange }: RefillFieldProps): JSX.Element => (
  <div class="field-row">
    <SelectField
      label="Refill interval"
      name={`${name}.interval`}
      value={value.interval}
      options={intervals}
      onChange={(interval) => onChange({ ...value, interval })}
      hint="At 00:00 UTC."
    />
    <TextField
      label="Refill amount"
      name={`${name}.amount`}
      value={value.amount}
      onChange={(amount) => onChange({ ...value, amount })}
      error={notWhole(value.amount)}
    />
    {value.interval === "monthly" && (
      <TextField
        label="Refill day"
        name={`${name}.refillDay`}
        value={value.refillDay}
        onChange={(refillDay) => onChange({ ...value, refillDay })}
        error={notWhole(value.refillDay)}
        hint="1 to 31; the last day of a shorter month."
      />
    )}
  </div>
);
