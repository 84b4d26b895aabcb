import type { ClickHouse } from "./clickhouse.ts";
import { EngineError, EngineUnavailableError } from "./engineErrors.ts";
import { isOfStatement } from "./queryErrors.ts";
import { querySettings } from "./querySettings.ts";
import { readRows } from "./resultRows.ts";
import { onCluster } from "./tables/schema.ts";
import { visibleRows } from "./visibleRows.ts";

/** Rows of each of three owners: all of them lie in one granule, which has 8,192. */
const ROWS = 100;
const TABLE = "isolation_probe";
const MAX_BYTES = 64 * 1024;

/** On the rows of the scope a 0; on others each fails. */
const failing = [
  "if(startsWith(value, 'own'), 0, toInt64(value))",
  "1 DIV if(startsWith(value, 'own'), 1, 0) - 1",
  "length(arrayFilter(x -> 1 % if(x = 'own', 1, 0) = 1, tags))",
];

/**
 * Where a query may have an expression `e`; each answers how many own times there are, since a row may be there twice.
 * `t(name)` is the table under a name.
 */
const forms: readonly ((e: string, t: (name: string) => string) => string)[] = [
  (e, t) => `SELECT uniqExact(time) FROM ${t("a")} WHERE ${e} = 0`,
  (e, t) => `SELECT uniqExact(time) FROM ${t("a")} WHERE value != '' AND ${e} = 0`,
  (e, t) => `SELECT uniqExactIf(time, ${e} = 0) FROM ${t("a")}`,
  (e, t) => `SELECT max(n) FROM (SELECT ${e} AS e, uniqExact(time) AS n FROM ${t("a")} GROUP BY e)`,
  (e, t) => `SELECT uniqExact(time) FROM (SELECT DISTINCT time, ${e} AS e FROM ${t("a")} ORDER BY e, time LIMIT ${ROWS})`,
  (e, t) =>
    `SELECT uniqExact(time) FROM (SELECT DISTINCT time, value, ${e} AS e FROM ${t("a")} ORDER BY time DESC LIMIT ${ROWS}) WHERE e = 0`,
  (e, t) => `SELECT uniqExact(time) FROM (SELECT *, ${e} AS e FROM ${t("a")}) AS s WHERE e = 0`,
  (e, t) => `SELECT uniqExact(a.time) FROM ${t("a")} JOIN (SELECT DISTINCT ${e} AS e FROM ${t("b")}) AS s ON s.e = ${e}`,
  (e, t) => `SELECT uniqExact(time) FROM ${t("a")} WHERE ${e} IN (SELECT ${e} FROM ${t("b")})`,
  (e, t) => `SELECT uniqExact(time) FROM ${t("a")} WHERE EXISTS (SELECT 1 FROM ${t("b")} WHERE ${e} = 0)`,
  (e, t) => `SELECT uniqExact(time) FROM (SELECT time FROM ${t("a")} WHERE ${e} = 0 UNION ALL SELECT time FROM ${t("b")} WHERE ${e} = 1)`,
  (e, t) => `SELECT max(n) FROM (SELECT uniqExact(time) OVER (PARTITION BY ${e}) AS n FROM ${t("a")})`,
  (e, t) => `WITH s AS (SELECT * FROM ${t("a")} WHERE ${e} = 0) SELECT any((SELECT uniqExact(time) FROM s)) FROM s`,
  (e, t) => `SELECT sum(n) FROM (SELECT value, uniqExact(time) AS n FROM ${t("a")} GROUP BY value HAVING max(${e}) = 0)`,
];

const probes: readonly (readonly [sql: (t: (name: string) => string) => string, answer: number])[] = [
  ...forms.flatMap((form) => failing.map((e) => [(t: (name: string) => string) => form(e, t), ROWS] as const)),
  // Names that the condition of the scope might take for its own.
  [(t) => `WITH 'own' AS owner SELECT uniqExact(time) FROM ${t("a")}`, ROWS],
  [(t) => `WITH 'own' AS owner SELECT uniqExact(value) FROM (SELECT value FROM ${t("owner")})`, 1],
  [(t) => `SELECT count() FROM ${t("a")} WHERE owner != 'own'`, 0],
];

/** What the proof may use: it reads a few hundred rows at a time. */
const settings = querySettings({ querySeconds: 30, rowsRead: 1_000_000, memory: 64 * 1024 ** 2 });

export interface IsolationProofOptions {
  readonly clickhouse: ClickHouse;
  readonly database: string;
  readonly cluster: string | undefined;
  /** Hears of an engine that shows rows of others, with the first queries that did. */
  readonly onLeak: (version: string, queries: readonly string[]) => void;
}

/**
 * Whether scoped queries are kept to their scope by the engine that runs now (DESIGN §9): it is made to run queries that fail
 * if any expression of theirs meets a row of others, over a small table of its own, once for each version of the engine.
 * Fails with `EngineError` and `EngineUnavailableError` where that cannot be told; asked again, it tries again.
 */
export const createIsolationProof = ({ clickhouse, database, cluster, onLeak }: IsolationProofOptions): (() => Promise<boolean>) => {
  const table = `${database}_internal.${TABLE}`;
  const verdicts = new Map<string, Promise<boolean>>();

  const ask = async (sql: string): Promise<boolean> =>
    (await clickhouse.query(`SELECT ${sql} FROM ${table} FORMAT TabSeparated`, { maxBytes: MAX_BYTES })).trim() === "1";

  /**
   * May be repeated, also by several nodes at once. A value takes no more room than its owner: the engine evaluates
   * conditions on small columns first, and those of the key last.
   */
  const prepare = async (): Promise<void> => {
    await clickhouse.command(
      `CREATE TABLE IF NOT EXISTS ${table}${onCluster(cluster)} (workspace_id LowCardinality(String), owner String, time Int64, value String, ` +
        `tags Array(String)) ENGINE = ${cluster === undefined ? "" : "Replicated"}MergeTree ORDER BY (workspace_id, owner, time) ` +
        // As parts are once they are large: of those, the engine reads some columns before others.
        "SETTINGS min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0",
    );
    const isComplete = `uniqExactIf(time, owner = 'own') = ${ROWS} AND countIf(owner < 'own') > 0 AND countIf(owner > 'own') > 0`;
    if (!(await ask(isComplete))) {
      await clickhouse.command(
        `INSERT INTO ${table} (workspace_id, owner, time, value, tags) SELECT 'ws', arrayElement(['alice', 'own', 'zoe'], 1 + number % 3) AS name, ` +
          `intDiv(number, 3), name, [name] FROM numbers(${3 * ROWS})`,
      );
    }
    // Of merged parts the engine knows more, and chooses by it which conditions come first: as of all that is no longer new.
    await clickhouse.command(`OPTIMIZE TABLE ${table}${onCluster(cluster)} FINAL`);
    // Another replica may answer, and without rows of others the proof would prove nothing.
    if (!(await ask(isComplete))) throw new EngineUnavailableError("the rows of the isolation proof are not there yet");
  };

  const leaks = async (sql: string, answer: number): Promise<boolean> => {
    try {
      const [row] = await readRows(await clickhouse.query(sql, { settings, maxBytes: MAX_BYTES }), MAX_BYTES);
      return Object.values(row ?? {})[0] !== answer;
    } catch (error) {
      if (error instanceof EngineError && isOfStatement(error)) return true;
      throw error;
    }
  };

  const prove = async (version: string): Promise<boolean> => {
    await prepare();
    const own = (name: string): string => {
      const reference = { table: TABLE, since: undefined, until: undefined, ids: undefined };
      const visibility = { scopeColumn: "owner", scope: ["own"], since: 0, name: "row_of_own" };
      return `${visibleRows(reference, { ...visibility, database: `${database}_internal` })} AS ${name}`;
    };
    const leaking: string[] = [];
    for (const [write, answer] of probes) {
      const sql = write(own);
      if (await leaks(sql, answer)) leaking.push(sql);
    }
    if (leaking.length > 0) onLeak(version, leaking.slice(0, 3));
    return leaking.length === 0;
  };

  return async () => {
    const version = await clickhouse.version();
    const known = verdicts.get(version);
    if (known) return known;
    const verdict = prove(version);
    verdicts.set(version, verdict);
    verdict.catch(() => verdicts.delete(version));
    return verdict;
  };
};
