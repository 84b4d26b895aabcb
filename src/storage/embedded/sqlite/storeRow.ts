import type { DatabaseSync } from "node:sqlite";

/** What the database says of itself: the one row of the table `store`. */
export interface StoreRow {
  /** The store's id. */
  readonly store: string;
  /** Commits so far; 0 until there is the file of the marks. */
  readonly commits: number;
}

/** Gives the database an id, unless it has one. */
export const nameStore = (database: DatabaseSync, store: string): void => {
  database.exec("CREATE TABLE IF NOT EXISTS store (id TEXT NOT NULL, commits INTEGER NOT NULL)");
  database.prepare("INSERT INTO store SELECT ?, 0 WHERE NOT EXISTS (SELECT 1 FROM store)").run(store);
};

/** Undefined for a database of a version that kept no such row, and for one that is empty. */
export const readStoreRow = (database: DatabaseSync): StoreRow | undefined => {
  if (database.prepare("SELECT 1 FROM sqlite_schema WHERE type='table' AND name='store'").get() === undefined) return undefined;
  const row = database.prepare("SELECT id, commits FROM store").get();
  return row === undefined ? undefined : { store: String(row.id), commits: Number(row.commits) };
};
