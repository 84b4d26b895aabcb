import type { JSX } from "preact";
import { Field, type FieldProps } from "./Field.tsx";

export interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: "text" | "search" | "password" | "number" | "datetime-local";
  /** More than one line of it. */
  readonly rows?: number;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly autofocus?: boolean;
}

/** A text in one line or several. Secrets are of type `password`, which no browser is to remember. */
export const TextField = ({
  value,
  onChange,
  type = "text",
  rows,
  placeholder,
  required,
  autofocus,
  ...field
}: TextFieldProps): JSX.Element => (
  <Field {...field}>
    {(input) => {
      const shared = {
        ...input,
        class: "input",
        value,
        placeholder,
        required,
        autocomplete: "off",
        spellcheck: false,
        "data-autofocus": autofocus === true ? "" : undefined,
        onInput: (event: Event) => onChange((event.currentTarget as HTMLInputElement | HTMLTextAreaElement).value),
      };
      // The types of JSX know no input whose type is one of several.
      return rows === undefined ? <input {...shared} type={type as "text"} /> : <textarea {...shared} rows={rows} />;
    }}
  </Field>
);
