import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

export interface RadioOption<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** Shown below it while it is chosen. */
  readonly details?: ComponentChildren;
}

export interface RadioGroupProps<Value extends string> {
  /** Names the group. */
  readonly label: string;
  readonly name: string;
  readonly value: Value;
  readonly options: readonly RadioOption<Value>[];
  readonly onChange: (value: Value) => void;
}

/** A choice between a few visible options. */
export const RadioGroup = <Value extends string>({ label, name, value, options, onChange }: RadioGroupProps<Value>): JSX.Element => {
  const id = useId();
  return (
    <div class="radio-group" role="radiogroup" aria-labelledby={id}>
      <p id={id} class="group-label">
        {label}
      </p>
      {options.map((option) => (
        <div key={option.value} class="radio">
          <input
            id={`${id}-${option.value}`}
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <label for={`${id}-${option.value}`}>{option.label}</label>
          {option.value === value && option.details !== undefined && <div class="radio-details">{option.details}</div>}
        </div>
      ))}
    </div>
  );
};
