import type { JSX } from "preact";
import { readLocalTime } from "../../data/readInput.ts";
import { TextField } from "../../design/forms/TextField.tsx";
import { queryParams, setQueryParams } from "../../router/address.ts";

/** Unix ms as a `datetime-local` input has it, in the reader's zone. */
const localText = (time: number): string => {
  const zone = new Date(time).getTimezoneOffset() * 60_000;
  return new Date(time - zone).toISOString().slice(0, 16);
};

/** A time that is in the URL, as Unix ms. */
export const TimeFilter = ({ label, name }: { readonly label: string; readonly name: "start" | "end" }): JSX.Element => {
  const value = queryParams.value.get(name);
  return (
    <TextField
      label={label}
      name={name}
      type="datetime-local"
      value={value !== null && /^\d{1,14}$/.test(value) ? localText(Number(value)) : ""}
      onChange={(text) => setQueryParams({ [name]: readLocalTime(text)?.toString() })}
    />
  );
};
