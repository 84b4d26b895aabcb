import type { Dataset } from "../tables/schema.ts";
import { rawColumns } from "../tables/schema.ts";
import { oneOfCondition } from "../usage/filterSql.ts";
import type { Place, Range } from "./heads.ts";

/** What one reader of a statement wants. */
export interface Branch {
  readonly ranges: readonly Range[];
  /** Of the rows of the ranges. */
  readonly conditions: readonly string[];
  /** Rows at most. */
  readonly limit: number;
}

/** The statements that follow what is inserted. All of them are ours; texts of callers are in the conditions as literals. */
export interface TailSql {
  /** `id`: of the table, which nobody can guess. */
  readonly identity: string;
  /** `writer`, `first`, `last`, `count` of all rows, or of those beyond a place. */
  readonly heads: (beyond?: Place) => string;
  /** The same for each stretch without a gap. */
  readonly stretches: (writers: readonly string[]) => string;
  /**
   * The columns of the raw table, with `writer`, `seq` and `branch`, the index of the branch. Of each branch the first rows: all
   * writers go on at the same pace, each in its order.
   */
  readonly rows: (branches: readonly Branch[]) => string;
}

/** More stretches tell nobody anything. */
const MOST_STRETCHES = 1_000;

export const createTailSql = (database: string, dataset: Dataset): TailSql => {
  const table = `${database}_internal.${dataset.inlet}`;
  const columns = rawColumns(dataset).join(", ");
  const text = (writer: string): string => `'${writer.replace(/[\\']/g, "\\$&")}'`;
  const extent = "min(seq) AS first, max(seq) AS last, toInt64(count()) AS count";

  const beyondCondition = (place: Place): string => {
    if (place.size === 0) return "1";
    const known = place.entries().map(([writer, seq]) => `(writer = ${text(writer)} AND seq > ${seq})`);
    return [...known, `writer NOT IN [${place.keys().map(text).toArray().join(", ")}]`].join(" OR ");
  };

  const rowsOf = ({ ranges, conditions, limit }: Branch, index: number): string => {
    const within = ranges.map(({ writer, base, upper }) => `(writer = ${text(writer)} AND seq > ${base} AND seq <= ${upper})`);
    const bases = ranges.map(({ writer, base }) => `writer = ${text(writer)}, ${base}`);
    const all = [`(${within.join(" OR ")})`, ...conditions];
    return (
      `SELECT * FROM (SELECT ${columns}, writer, seq, ${index} AS branch FROM ${table} WHERE ${all.join(" AND ")} ` +
      `ORDER BY seq - multiIf(${bases.join(", ")}, 0), writer LIMIT ${limit})`
    );
  };

  return {
    identity: `SELECT toString(uuid) AS id FROM system.tables WHERE database = '${database}_internal' AND name = '${dataset.inlet}'`,
    heads: (beyond = new Map()) => `SELECT writer, ${extent} FROM ${table} WHERE ${beyondCondition(beyond)} GROUP BY writer`,
    stretches: (writers) =>
      `SELECT writer, ${extent} FROM (SELECT writer, seq, seq - toInt64(row_number() OVER (PARTITION BY writer ORDER BY seq)) AS shift ` +
      `FROM ${table} WHERE ${oneOfCondition("writer", writers)}) GROUP BY writer, shift ORDER BY writer, first LIMIT ${MOST_STRETCHES}`,
    rows: (branches) => branches.map(rowsOf).join(" UNION ALL "),
  };
};
