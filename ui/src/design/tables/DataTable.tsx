import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "../actions/Button.tsx";
import { ColumnMenu } from "./ColumnMenu.tsx";
import { type ChoosableColumn, useColumnChoice } from "./columnChoice.ts";
import { visibleRows } from "./visibleRows.ts";

export interface Column<Row> extends ChoosableColumn {
  readonly label: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Also where there is room for two columns only. */
  readonly narrow?: true;
  /** Aligned for comparing. */
  readonly number?: true;
}

export interface DataTableProps<Row> {
  /** Name of the list: "Keys". The chosen columns are saved under it. */
  readonly label: string;
  /** The first one names the row; it holds the link to its page. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** The columns are part of the request: all are shown, and there is no column chooser. */
  readonly columnsFixed?: true;
  /** More rows than those given. */
  readonly more?: { readonly loading: boolean; readonly load: () => void } | undefined;
  /** Rows can be chosen, by a box in front of each. */
  readonly choice?: RowChoice<Row>;
}

/** Which rows are chosen, by their keys. */
export interface RowChoice<Row> {
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
  /** Names a row: its box is called "Select" and this. */
  readonly labelOf: (row: Row) => string;
}

/** As `tables.css` has it. */
const rowHeight = 40;

/** Below this all rows are there; above it only those in view. */
const longTable = 100;

/** A table: arrow keys move between rows, columns can be chosen, thousands of rows cost no more than a screen of them. */
export const DataTable = <Row,>({
  label,
  columns,
  rows,
  rowKey,
  columnsFixed,
  more,
  choice: choosing,
}: DataTableProps<Row>): JSX.Element => {
  const choice = useColumnChoice(label, columns);
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const focusAfter = useRef<number | undefined>(undefined);
  const virtual = rows.length > longTable;
  const { from, to, above, below } = virtual
    ? visibleRows(rows.length, rowHeight, view.top, view.height)
    : { from: 0, to: rows.length, above: 0, below: 0 };
  const shown = columnsFixed === true ? columns : columns.filter(({ id }) => choice.shown.has(id));

  const toggle = (key: string, chosen: boolean): void => {
    const next = new Set(choosing?.chosen);
    if (chosen) next.add(key);
    else next.delete(key);
    choosing?.onChange(next);
  };
  const allChosen = rows.length > 0 && rows.every((row) => choosing?.chosen.has(rowKey(row)) === true);

  const focusRow = (index: number): boolean => {
    const row = scroller.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${index + 2}"]`);
    (row?.querySelector<HTMLElement>("a, button, input:not([type=checkbox])") ?? row)?.focus();
    return row !== null && row !== undefined;
  };
  useLayoutEffect(() => {
    if (focusAfter.current !== undefined && focusRow(focusAfter.current)) focusAfter.current = undefined;
  });

  const move = (event: KeyboardEvent): void => {
    const row = event.target instanceof Element ? event.target.closest("tr") : null;
    if (row === null || (event.target instanceof HTMLInputElement && event.target.type !== "checkbox")) return;
    const at = Number(row.getAttribute("aria-rowindex")) - 2;
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1);
    const targets: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: rows.length - 1,
    };
    const wanted = targets[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    const target = Math.min(Math.max(0, wanted), rows.length - 1);
    if (focusRow(target)) return;
    focusAfter.current = target;
    scroller.current?.scrollTo({ top: target * rowHeight });
  };

  return (
    <div class="data-table">
      {columnsFixed !== true && (
        <div class="table-tools">
          <ColumnMenu columns={columns} shown={choice.shown} onToggle={choice.toggle} />
        </div>
      )}
      <div
        ref={scroller}
        class={virtual ? "scrolls long" : "scrolls"}
        // Its rows may hold nothing that takes the focus.
        {...(columnsFixed === true ? { tabIndex: 0, role: "region", "aria-label": `${label}, scrolls` } : {})}
        onScroll={(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
      >
        <table aria-label={label} aria-rowcount={rows.length + 1} onKeyDown={move}>
          <thead>
            <tr aria-rowindex={1}>
              {choosing !== undefined && (
                <th scope="col" class="choice">
                  <input
                    type="checkbox"
                    name="select:all"
                    aria-label="Select all"
                    checked={allChosen}
                    onChange={() => choosing.onChange(new Set(allChosen ? [] : rows.map(rowKey)))}
                  />
                </th>
              )}
              {shown.map(({ id, label: heading, narrow, number }) => (
                <th key={id} scope="col" class={`${narrow === true ? "" : "wide-only"} ${number === true ? "number" : ""}`}>
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {above > 0 && <tr class="room" aria-hidden="true" style={{ height: `${above}px` }} />}
            {rows.slice(from, to).map((row, index) => (
              <tr key={rowKey(row)} aria-rowindex={from + index + 2}>
                {choosing !== undefined && (
                  <td class="choice">
                    <input
                      type="checkbox"
                      name={`select:${rowKey(row)}`}
                      aria-label={`Select ${choosing.labelOf(row)}`}
                      checked={choosing.chosen.has(rowKey(row))}
                      onChange={(event) => toggle(rowKey(row), event.currentTarget.checked)}
                    />
                  </td>
                )}
                {shown.map(({ id, cell, narrow, number }, column) => {
                  const classes = `${narrow === true ? "" : "wide-only"} ${number === true ? "number" : ""}`;
                  return column === 0 ? (
                    <th key={id} scope="row" class={classes}>
                      {cell(row)}
                    </th>
                  ) : (
                    <td key={id} class={classes}>
                      {cell(row)}
                    </td>
                  );
                })}
              </tr>
            ))}
            {below > 0 && <tr class="room" aria-hidden="true" style={{ height: `${below}px` }} />}
          </tbody>
        </table>
      </div>
      {more !== undefined && (
        <div class="actions">
          <Button pending={more.loading} onClick={more.load}>
            Load more
          </Button>
        </div>
      )}
    </div>
  );
};
