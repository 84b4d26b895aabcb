import type { TableReference } from "./sql/tableReferences.ts";
import { quoteText } from "./sql/tokens.ts";
import { timeConditions } from "./tables/schema.ts";

/** Keeps all rows, and lets the engine move no expression of a query to the rows in front of it. */
export const BARRIER = "LIMIT 9223372036854775807";

export interface Visibility {
  readonly database: string;
  /** Column that the scope goes by. */
  readonly scopeColumn: string;
  /** Ids whose rows may be seen; undefined = all. */
  readonly scope: readonly string[] | undefined;
  /** Unix ms: the earliest time that may be seen. */
  readonly since: number;
  /** A name that nothing else in the query bears. */
  readonly name: string;
}

/** What stands in the place of a table where no row at all is to be read. */
export const noRows = ({ table }: TableReference, database: string): string => `(SELECT * FROM ${database}.${table} WHERE 0 ${BARRIER})`;

/**
 * The subquery that stands in the place of a table: the rows that a query may see, and no other (DESIGN §9).
 *
 * What a scoped query does with its rows happens behind them: the condition is the read's own, and nothing passes the
 * barrier. It is made of columns, literals and operators only, and each column is qualified by a name that the query does
 * not hold, so that nothing in the query can change its meaning. Bounds that the query states are repeated in it, as ours,
 * so that the engine need not read what they leave out.
 *
 * Who may see everything needs no barrier, which would keep the engine from reading less than everything.
 */
export const visibleRows = (reference: TableReference, { database, scopeColumn, scope, since, name }: Visibility): string => {
  const { table, until, ids } = reference;
  const from = `SELECT * FROM ${database}.${table} AS ${name}`;
  const time = `${name}.time`;
  if (scope === undefined) return `(${from} WHERE ${timeConditions(table, time, since, undefined).join(" AND ")})`;
  const seen = ids === undefined ? scope : scope.filter((id) => ids.includes(id));
  if (seen.length === 0) return noRows(reference, database);
  const conditions = [
    // An array: of a tuple the engine remembers a type for each of its elements.
    `${name}.${scopeColumn} IN [${seen.map(quoteText).join(", ")}]`,
    ...timeConditions(table, time, Math.max(since, reference.since ?? since), until),
  ];
  return `(${from} PREWHERE ${conditions.join(" AND ")} ${BARRIER})`;
};
