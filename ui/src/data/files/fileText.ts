import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** File formats that rows can be saved in. */
export type FileFormat = "CSV" | "NDJSON";

/** Prefixes an apostrophe to texts that a spreadsheet would read as a formula: anyone can choose names and identifiers. */
const harmless = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

const cellOf = (value: JsonValue | undefined): string => {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? harmless(value) : typeof value === "object" ? JSON.stringify(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** The names of all columns, in the order of their first appearance in the rows. */
export const columnNames = (rows: readonly JsonObject[]): readonly string[] => [...new Set(rows.flatMap((row) => Object.keys(row)))];

/** RFC 4180, with a line of headings; what is neither text, number nor boolean stands as JSON. */
const csvText = (rows: readonly JsonObject[]): string => {
  const columns = columnNames(rows);
  const lines = [columns.map(cellOf), ...rows.map((row) => columns.map((column) => cellOf(row[column])))];
  return lines.map((cells) => `${cells.join(",")}\r\n`).join("");
};

/** The content of a file with these rows. */
export const fileText = (format: FileFormat, rows: readonly JsonObject[]): string =>
  format === "CSV" ? csvText(rows) : rows.map((row) => `${JSON.stringify(row)}\n`).join("");
