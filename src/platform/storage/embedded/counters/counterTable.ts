import type { DatabaseSync, StatementSync } from "node:sqlite";

/** A row of `counters.sqlite`: what one identifier has used of a limit in window `seq` and in the one before. */
export interface StoredCounter {
  readonly seq: number;
  readonly current: number;
  readonly previous: number;
  /** Unix ms. */
  readonly expireAt: number;
}

export type CounterEntry = readonly [key: string, counter: StoredCounter];

/** Without an index by expiry: it would double what a charge writes. */
export const createCounterTable = (database: DatabaseSync): void =>
  database.exec(
    "CREATE TABLE IF NOT EXISTS counters (key TEXT NOT NULL PRIMARY KEY, seq INTEGER NOT NULL, current INTEGER NOT NULL, previous INTEGER NOT NULL, expireAt INTEGER NOT NULL) WITHOUT ROWID",
  );

type Prepare = (sql: string) => StatementSync;

/** Makes the counters what these entries say, whatever they are now. */
export const putCounters = (prepare: Prepare, entries: readonly CounterEntry[]): void => {
  const put = prepare("INSERT OR REPLACE INTO counters (key, seq, current, previous, expireAt) VALUES (?, ?, ?, ?, ?)");
  for (const [key, { seq, current, previous, expireAt }] of entries) put.run(key, seq, current, previous, expireAt);
};

/** Rows that one step of the removal looks at: charges wait for it. */
const ROWS_PER_STEP = 2_000;

/**
 * Removes counters that have expired among the next rows.
 * @param after a key, "" to begin
 * @param now Unix ms
 * @returns the key to continue after; undefined at the end
 */
export const removeExpired = (prepare: Prepare, after: string, now: number): string | undefined => {
  const slice = prepare(`SELECT max(key) AS last FROM (SELECT key FROM counters WHERE key>? ORDER BY key LIMIT ${ROWS_PER_STEP})`);
  const last = slice.get(after)?.last;
  if (typeof last !== "string") return undefined;
  prepare("DELETE FROM counters WHERE key>? AND key<=? AND expireAt<=?").run(after, last, now);
  return last;
};
