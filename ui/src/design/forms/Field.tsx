import type { ComponentChildren, JSX } from "preact";
import { useContext, useId } from "preact/hooks";
import { FormViolations, violationsAt, violationText } from "./formErrors.ts";

export interface FieldProps {
  readonly label: string;
  /** The JSON name of the contract: `credits.remaining`. */
  readonly name: string;
  readonly hint?: ComponentChildren;
  /** A problem that the page found itself. */
  readonly error?: string | undefined;
}

/** The attributes that the input inside must carry. */
export interface InputAttributes {
  readonly id: string;
  readonly name: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": "true" | undefined;
}

/** Label, hint and problems of an input. Violations are shown at the field that the service names (protocol §6). */
export const Field = ({
  label,
  name,
  hint,
  error,
  children,
}: FieldProps & { readonly children: (input: InputAttributes) => ComponentChildren }): JSX.Element => {
  const id = useId();
  const found = violationsAt(useContext(FormViolations), name);
  const problems = [...(error === undefined ? [] : [error]), ...found.map((violation) => violationText(violation, name))];
  const described = [hint === undefined ? "" : `${id}-hint`, problems.length === 0 ? "" : `${id}-error`]
    .filter((part) => part !== "")
    .join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, name, "aria-describedby": described || undefined, "aria-invalid": problems.length > 0 ? "true" : undefined })}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      {problems.length > 0 && (
        <ul id={`${id}-error`} class="problems">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
    </div>
  );
};
