import type { DescribedField } from "../../platform/rpc/description/describeField.ts";
import { isObject } from "../../platform/util/isObject.ts";
import { formatRows, formatTable, jsonLine, oneLine } from "../../platform/util/table.ts";

type Json = Readonly<Record<string, unknown>>;

/** Characters of a cell that are shown; what is longer is cut, unless all is wanted. */
const WIDEST = 100;

const cut = (text: string, wide: boolean): string => (wide || text.length <= WIDEST ? text : `${text.slice(0, WIDEST - 1)}…`);

/** Times are shown as such; 0 is none of them in most fields, and so stays what it is. */
const timeOf = (value: number): string | number => {
  const date = new Date(value);
  return value > 0 && !Number.isNaN(date.getTime()) ? date.toISOString().replace(".000Z", "Z") : value;
};

/** A value in one line; undefined for none. */
const show = (value: unknown, field: DescribedField | undefined, wide: boolean): string | number | undefined => {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number") return field?.kind === "time" ? timeOf(value) : value;
  if (field !== undefined && Array.isArray(value) && !value.some((item) => typeof item === "object"))
    return cut(oneLine(value.join(", ")), wide);
  return cut(typeof value === "object" ? jsonLine(value) : oneLine(String(value)), wide);
};

const named = (fields: readonly DescribedField[], name: string): DescribedField | undefined => fields.find((field) => field.name === name);

/** The columns that any row has: those that are known in their order, then others. */
const columnsOf = (rows: readonly Json[], fields: readonly DescribedField[]): string[] => {
  const present = new Set(rows.flatMap(Object.keys));
  const known = fields.map(({ name }) => name).filter((name) => present.delete(name));
  return [...known, ...present];
};

/** Rows as a table; what is no object is a line of its own. */
export const presentRows = (rows: readonly unknown[], fields: readonly DescribedField[], wide: boolean): string[] => {
  if (!rows.every(isObject)) return rows.map((row) => String(show(row, undefined, wide) ?? ""));
  const columns = columnsOf(rows, fields);
  if (columns.length === 0) return [];
  return formatRows(
    columns.map(oneLine),
    rows.map((row) => columns.map((column) => show(row[column], named(fields, column), wide))),
  );
};

const isTable = (value: unknown): value is readonly Json[] => Array.isArray(value) && value.length > 0 && value.every(isObject);

/** Names and values, those inside objects by their path; a list of objects stands behind them, as a table with a heading. */
export const presentObject = (data: Json, fields: readonly DescribedField[], wide: boolean): string[] => {
  const lines: string[][] = [];
  const tables: string[] = [];
  const add = (object: Json, inner: readonly DescribedField[], path: string): void => {
    for (const name of columnsOf([object], inner)) {
      const value = object[name];
      const field = named(inner, name);
      const label = oneLine(path + name);
      if (isTable(value)) tables.push("", label, ...presentRows(value, field?.fields ?? [], wide).map((line) => `  ${line}`));
      else if (isObject(value) && field?.kind === "object") add(value, field.fields, `${path}${name}.`);
      // A value that has its line for itself need not be cut.
      else lines.push([label, String(show(value, field, true) ?? "")]);
    }
  };
  add(data, fields, "");
  const all = [...formatTable(lines), ...tables];
  return all[0] === "" ? all.slice(1) : all;
};
