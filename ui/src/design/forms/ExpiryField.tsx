import type { JSX } from "preact";
import { expiryProblem } from "../../data/drafts/expiryDraft.ts";
import type { FieldProps } from "./Field.tsx";
import { TextField } from "./TextField.tsx";

export interface ExpiryFieldProps extends Omit<FieldProps, "name" | "error"> {
  /** As a `datetime-local` input has it. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The time at which something expires, in the reader's zone. Marks a time that has passed; an empty field is the form's to judge. */
export const ExpiryField = ({ value, ...field }: ExpiryFieldProps): JSX.Element => (
  <TextField
    {...field}
    name="expires"
    type="datetime-local"
    value={value}
    error={value === "" ? undefined : expiryProblem(value, Date.now())}
  />
);
