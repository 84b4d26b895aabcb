import { quoteText } from "../sql/tokens.ts";

/** A text of a caller's as a literal that holds exactly it: the engine reads no further than a plain U+0000. */
const literal = (value: string | boolean): string =>
  typeof value === "boolean" ? String(value) : quoteText(value).replaceAll("\0", "\\0");

const list = (values: readonly (string | boolean)[]): string => `[${values.map(literal).join(", ")}]`;

// Nothing is one of no values.

/** That a column is one of the values. */
export const oneOfCondition = (column: string, values: readonly (string | boolean)[]): string =>
  values.length === 0 ? "0" : `${column} IN ${list(values)}`;

/** That one of an event's tags is one of the values; "" stands for none at all. */
export const tagsCondition = (column: string, values: readonly (string | boolean)[]): string => {
  if (values.length === 0) return "0";
  return `(hasAny(${column}, ${list(values)})${values.includes("") ? ` OR empty(${column})` : ""})`;
};
