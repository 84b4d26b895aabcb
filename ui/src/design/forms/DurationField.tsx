import type { JSX } from "preact";
import { readDuration } from "../../data/readInput.ts";
import { formatDuration } from "../values/formatDuration.ts";
import type { FieldProps } from "./Field.tsx";
import { TextField } from "./TextField.tsx";

export interface DurationFieldProps extends Pick<FieldProps, "label" | "name"> {
  /** As it was typed: `readDuration` reads it. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A length of time, in milliseconds or with a unit; says in words what was understood. */
export const DurationField = ({ value, ...field }: DurationFieldProps): JSX.Element => {
  const read = readDuration(value);
  return (
    <TextField
      {...field}
      value={value}
      required
      error={read === "invalid" ? "Milliseconds, or a number with s, m, h or d." : undefined}
      hint={typeof read === "bigint" ? formatDuration(read) : "Milliseconds, or 30s, 5m, 1h, 1d."}
    />
  );
};
