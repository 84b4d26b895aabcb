import { DatabaseSync } from "node:sqlite";
import { StoreUnavailableError } from "../../port/errors.ts";
import { isDamage, isInterrupted, isUnavailability } from "../sqlite/sqliteErrors.ts";
import { type StoreFiles, sizeOf } from "../storeFiles.ts";

/** @returns what SQLite says when it is asked to read the file. */
const errorOf = (file: string, readOnly: boolean): unknown => {
  const database = new DatabaseSync(file, { readOnly, timeout: 1000 });
  try {
    database.prepare("SELECT 1 FROM sqlite_schema").get();
    return undefined;
  } catch (error) {
    return error;
  } finally {
    database.close();
  }
};

/**
 * Lets SQLite undo a change that a crash interrupted: the first of a new database, or of a copy that was put in its place.
 * Only who holds the server's lock may call it. A database with nothing to undo is not opened for writing, which would fold its
 * log into it. True when there was something to undo.
 */
export const undoInterrupted = ({ database: file, journal }: StoreFiles): boolean => {
  if ((sizeOf(file) ?? 0) === 0 || (sizeOf(journal) ?? 0) === 0 || !isInterrupted(errorOf(file, true))) return false;
  const error = errorOf(file, false);
  // What it read then is damage, which is looked for next.
  if (error === undefined || isDamage(error)) return true;
  throw isUnavailability(error) ? new StoreUnavailableError(`${file} cannot be written to`, { cause: error }) : error;
};
