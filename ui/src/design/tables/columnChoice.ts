import { useState } from "preact/hooks";
import { readStored, store } from "../../data/stored.ts";

/** A column of a table. */
export interface ChoosableColumn {
  readonly id: string;
  /** Not shown until it is chosen. */
  readonly optional?: true;
}

/** Reads a stored choice: ids of the columns that show, with commas; unknown ones are passed over. */
export const readChoice = (stored: string | undefined, columns: readonly ChoosableColumn[]): ReadonlySet<string> => {
  const byDefault = columns.filter(({ optional }) => optional !== true).map(({ id }) => id);
  const chosen = stored?.split(",").filter((id) => columns.some((column) => column.id === id)) ?? [];
  return new Set(chosen.length === 0 ? byDefault : chosen);
};

/** Which columns of a table show, kept in the browser. @param table its name: one choice for each */
export const useColumnChoice = (
  table: string,
  columns: readonly ChoosableColumn[],
): { readonly shown: ReadonlySet<string>; readonly toggle: (id: string) => void } => {
  const [shown, setShown] = useState(() => readChoice(readStored(`columns:${table}`), columns));
  return {
    shown,
    toggle: (id) => {
      const next = new Set(shown);
      if (!next.delete(id)) next.add(id);
      // The last one stays: a table without columns shows nothing to choose from.
      if (next.size === 0) return;
      setShown(next);
      store(`columns:${table}`, [...next].join(","));
    },
  };
};
