import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

export interface CheckboxProps {
  readonly label: string;
  /** The JSON name of the contract, or the triple of a permission. */
  readonly name: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly hint?: ComponentChildren;
  /** Why it cannot be changed. */
  readonly disabledBecause?: string | undefined;
}

/** Yes or no. */
export const Checkbox = ({ label, name, checked, onChange, hint, disabledBecause }: CheckboxProps): JSX.Element => {
  const id = useId();
  const note = disabledBecause ?? hint;
  return (
    <div class="checkbox">
      <input
        id={id}
        type="checkbox"
        name={name}
        checked={checked}
        disabled={disabledBecause !== undefined}
        aria-describedby={note === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {note !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {note}
        </p>
      )}
    </div>
  );
};
