import { queryFunctions } from "../../../../src/features/analytics/sql/queryFunctions.ts";
import { ratelimitTables, tablesIn, verificationTables } from "./eventTables.ts";

/** Something that can be written where the cursor is. */
export interface SqlCompletion {
  readonly label: string;
  readonly type: "table" | "column" | "function";
  /** The inserted text, if it is not the label. */
  readonly apply?: string;
}

/** Words that are not valid names in SQL: such columns need backticks. */
const keywordColumns: ReadonlySet<string> = new Set(["limit"]);

const tables = [...verificationTables, ...ratelimitTables];

/** The tables, the columns of those that the query names (of all, while it names none) and the allowed functions (analytics §3). */
export const sqlCompletions = (query: string): readonly SqlCompletion[] => {
  const named = tablesIn(query);
  const columns = new Set((named.length === 0 ? tables : named).flatMap((table) => table.columns));
  return [
    ...[...columns].map(
      (label): SqlCompletion => ({ label, type: "column", ...(keywordColumns.has(label) ? { apply: `\`${label}\`` } : {}) }),
    ),
    ...tables.map(({ name }): SqlCompletion => ({ label: name, type: "table" })),
    ...queryFunctions.map((label): SqlCompletion => ({ label, type: "function", apply: `${label}(` })),
  ];
};
