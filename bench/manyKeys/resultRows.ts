import { formatTable } from "../../src/platform/util/table.ts";

/** What is to hold: of the growth from the fewest keys to the most, or of the number beside the most. */
export type Goal = { readonly growth: number } | { readonly most: number } | { readonly least: number };

export interface ResultRow {
  readonly what: string;
  readonly unit: string;
  /** One for each size, ascending; undefined where it was not measured. */
  readonly values: readonly (number | undefined)[];
  readonly goal?: Goal | undefined;
}

const shown = (value: number | undefined, unit: string): string => {
  if (value === undefined) return "";
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 1_000 ? 1 : 0;
  return `${value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}${unit === "×" ? "×" : ` ${unit}`}`;
};

const judged = (goal: Goal | undefined, last: number | undefined, growth: number | undefined, unit: string): readonly string[] => {
  if (goal === undefined) return ["", ""];
  if ("growth" in goal) return [`growth ≤ ${goal.growth}×`, growth === undefined ? "" : growth <= goal.growth ? "met" : "MISSED"];
  const [sign, bound, isMet] =
    "most" in goal
      ? ["≤", goal.most, last !== undefined && last <= goal.most]
      : ["≥", goal.least, last !== undefined && last >= goal.least];
  return [`${sign} ${bound}${unit === "×" ? "×" : ` ${unit}`}`, last === undefined ? "not measured" : isMet ? "met" : "MISSED"];
};

/** A table with a column for each size, the growth from the first to the last, the goal, and whether it was met. */
export const resultTable = (heads: readonly string[], rows: readonly ResultRow[]): string =>
  formatTable([
    ["", ...heads, "growth", "goal", ""],
    ...rows.map(({ what, unit, values, goal }) => {
      const [first, last] = [values[0], values.at(-1)];
      const growth = first === undefined || last === undefined || values.length < 2 ? undefined : last / first;
      return [what, ...values.map((value) => shown(value, unit)), shown(growth, "×"), ...judged(goal, last, growth, unit)];
    }),
  ]).join("\n");
