import type { JSX } from "preact";
import { Field, type FieldProps } from "./Field.tsx";

export interface SelectFieldProps<Value extends string> extends FieldProps {
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (value: Value) => void;
}

/** One of a few. */
export const SelectField = <Value extends string>({ value, options, onChange, ...field }: SelectFieldProps<Value>): JSX.Element => (
  <Field {...field}>
    {(input) => (
      <select {...input} class="input" value={value} onChange={(event) => onChange(event.currentTarget.value as Value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    )}
  </Field>
);
