import { DatabaseSync } from "node:sqlite";
import { StoreUnavailableError } from "../../port/errors.ts";
import { damagedPart, isDamage, isInterrupted, isUnavailability, messageOf } from "./sqliteErrors.ts";

/** How long SQLite waits for another process that has the file to itself, in milliseconds. */
const PATIENCE_MS = 5_000;

/**
 * Opens a database and reads its schema. Throws `StoreDamagedError` for a file that is no database, or a cut off one, and
 * `StoreUnavailableError` for one that cannot be read now. Opened for writing, SQLite first undoes a change that a crash
 * interrupted.
 */
export const openDatabase = (file: string, options: { readonly readOnly: boolean }): DatabaseSync => {
  const database = new DatabaseSync(file, { ...options, timeout: PATIENCE_MS });
  try {
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    return database;
  } catch (error) {
    database.close();
    if (isDamage(error)) throw damagedPart(file, messageOf(error), error);
    if (isInterrupted(error))
      throw new StoreUnavailableError(`a crash interrupted a change of ${file}: the next start undoes it`, { cause: error });
    if (isUnavailability(error)) throw new StoreUnavailableError(`${file} cannot be read: ${messageOf(error)}`, { cause: error });
    throw error;
  }
};
