import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { useTyped } from "../../data/hooks/useTyped.ts";
import { queryParams, setQueryParams } from "../../router/address.ts";
import { TextField } from "./TextField.tsx";

export interface SearchFieldProps {
  readonly label: string;
  /** Its parameter in the query: `/ui/apis?search=pay`. */
  readonly name: string;
  readonly placeholder?: string;
}

/** Milliseconds without typing before the URL, and with it the list, follows. */
const pause = 250;

/** A filter that is in the URL. `/` goes to the first one of a page. */
export const SearchField = ({ label, name, placeholder }: SearchFieldProps): JSX.Element => {
  const value = queryParams.value.get(name) ?? "";
  const [typed, setTyped, follow] = useTyped(value);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => {
      follow(typed);
      setQueryParams({ [name]: typed });
    }, pause);
    return () => clearTimeout(timer);
  }, [typed, value, name]);
  return (
    <TextField
      label={label}
      name={name}
      type="search"
      value={typed}
      onChange={setTyped}
      {...(placeholder === undefined ? {} : { placeholder })}
    />
  );
};
