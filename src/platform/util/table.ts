/** Lines of a table: columns as wide as their widest cell, two blanks apart, nothing behind the last. */
export const formatTable = (rows: readonly (readonly string[])[]): string[] => {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
};

/** Characters that move the cursor of a terminal, change its colours, or hide or reorder the text around them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what it is for
const controls = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/g;

/** A text for one line of a terminal. */
export const oneLine = (text: string): string => text.replace(controls, " ");

/** A value as JSON in one line; what would steer a terminal is escaped. */
export const jsonLine = (value: unknown): string =>
  JSON.stringify(value).replace(controls, (found) =>
    found.replace(/./gs, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );

/**
 * A table with a head; columns of numbers stand at the right, so that digits of the same worth stand below each other.
 * @param rows texts that go to the left, numbers, and undefined where a row has no value.
 */
export const formatRows = (columns: readonly string[], rows: readonly (readonly (string | number | undefined)[])[]): string[] => {
  const all: readonly (readonly (string | number | undefined)[])[] = [columns, ...rows];
  const cells = all.map((row) => row.map((value) => (value === undefined ? "" : String(value))));
  for (const [i] of columns.entries()) {
    if (!rows.every((row) => row[i] === undefined || typeof row[i] === "number")) continue;
    const width = Math.max(...cells.map((line) => line[i]?.length ?? 0));
    for (const line of cells) line[i] = (line[i] ?? "").padStart(width);
  }
  return formatTable(cells);
};
