import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { CallError } from "../../data/calls/callError.ts";
import { ErrorNote } from "../states/ErrorNote.tsx";
import { FormViolations, violationsElsewhere, violationText } from "./formErrors.ts";

export interface FormProps {
  readonly onSubmit: () => void;
  /** Why the last attempt failed. */
  readonly error: CallError | undefined;
  /** JSON names of its fields: what is wrong elsewhere is shown above the buttons. */
  readonly fields: readonly string[];
  readonly children: ComponentChildren;
  /** The buttons. */
  readonly actions: ComponentChildren;
}

/** A form: what the service finds wrong appears at its fields, and the first of them gets the focus. A half-typed date is refused. */
export const Form = ({ onSubmit, error, fields, children, actions }: FormProps): JSX.Element => {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (error !== undefined) form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus();
  }, [error]);
  const violations = error?.violations ?? [];
  const elsewhere = violationsElsewhere(violations, fields);
  return (
    <form
      ref={form}
      class="form"
      novalidate
      onSubmit={(event) => {
        event.preventDefault();
        // A date that is half typed has no value, and would be sent as none.
        const halfTyped = [...event.currentTarget.elements].find((field) => field instanceof HTMLInputElement && field.validity.badInput);
        if (halfTyped instanceof HTMLInputElement) halfTyped.reportValidity();
        else onSubmit();
      }}
    >
      <FormViolations.Provider value={violations}>{children}</FormViolations.Provider>
      {error !== undefined && (
        <ErrorNote
          error={error}
          message={violations.length > 0 && elsewhere.length === 0 ? "Correct the marked fields and try again." : undefined}
        >
          {elsewhere.length > 0 && (
            <ul>
              {elsewhere.map((violation) => (
                <li key={violation.location}>
                  <code>{violation.location}</code>: {violationText(violation, violation.location)}
                </li>
              ))}
            </ul>
          )}
        </ErrorNote>
      )}
      <div class="actions">{actions}</div>
    </form>
  );
};
