import type { DatabaseSync } from "node:sqlite";

/**
 * Gives the database an id, unless it has one. `commits` is for versions up to 0.11, which take a store for damaged that has
 * counted commits without their file of marks.
 */
export const nameStore = (database: DatabaseSync, store: string): void => {
  database.exec("CREATE TABLE IF NOT EXISTS store (id TEXT NOT NULL, commits INTEGER NOT NULL)");
  database.prepare("INSERT INTO store SELECT ?, 0 WHERE NOT EXISTS (SELECT 1 FROM store)").run(store);
  database.exec("UPDATE store SET commits=0 WHERE commits<>0");
};

/** The id of the store; undefined for a database of a version that gave none, and for one that is empty. */
export const readStoreId = (database: DatabaseSync): string | undefined => {
  if (database.prepare("SELECT 1 FROM sqlite_schema WHERE type='table' AND name='store'").get() === undefined) return undefined;
  const id = database.prepare("SELECT id FROM store").get()?.id;
  return id === undefined ? undefined : String(id);
};
