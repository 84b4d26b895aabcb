import type { JSX } from "preact";
import { useId } from "preact/hooks";
import { Checkbox } from "../forms/Checkbox.tsx";

export interface ColumnMenuProps {
  readonly columns: readonly { readonly id: string; readonly label: string }[];
  readonly shown: ReadonlySet<string>;
  readonly onToggle: (id: string) => void;
}

/** Chooses the columns of a table: a native popover. */
export const ColumnMenu = ({ columns, shown, onToggle }: ColumnMenuProps): JSX.Element => {
  const id = useId();
  return (
    <div class="column-menu">
      <button type="button" class="button plain" popovertarget={id}>
        Columns
      </button>
      <div id={id} popover="auto" class="menu" role="group" aria-label="Columns">
        {columns.map((column) => (
          <Checkbox
            key={column.id}
            label={column.label}
            name={`column:${column.id}`}
            checked={shown.has(column.id)}
            onChange={() => onToggle(column.id)}
          />
        ))}
      </div>
    </div>
  );
};
