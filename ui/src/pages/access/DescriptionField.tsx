import type { JSX } from "preact";
import type { FieldChange } from "../../design/forms/fieldChange.ts";
import { TextField } from "../../design/forms/TextField.tsx";
import { ThreeState } from "../../design/forms/ThreeState.tsx";
import { noDescription } from "./roleDraft.ts";

export interface DescriptionFieldProps {
  readonly stored: string | undefined;
  readonly change: FieldChange<string>;
  readonly onChange: (change: FieldChange<string>) => void;
}

/** Keeps, sets or removes a description. */
export const DescriptionField = ({ stored, change, onChange }: DescriptionFieldProps): JSX.Element => (
  <ThreeState
    label="Description"
    name="description"
    change={change}
    onChange={onChange}
    current={stored ?? noDescription}
    clear="Remove the description"
    initial={stored ?? ""}
  >
    {(value, set) => <TextField label="New description" name="description" rows={2} value={value} onChange={set} />}
  </ThreeState>
);
