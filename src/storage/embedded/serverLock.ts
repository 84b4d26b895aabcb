import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { damageError, lockFinding } from "./findings.ts";
import { isUnavailability } from "./sqliteErrors.ts";
import { sizeOf } from "./storeFiles.ts";

/** Holds the operating system's lock on a file, by a transaction that never ends, until it is closed. */
const holdLock = (file: string): DatabaseSync => {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
};

/**
 * Makes this process the only server of a directory, until the returned function is called or the process ends in any
 * way: by the lock on a file of its own. Throws when another one holds it.
 */
export const takeServerLock = (file: string, directory: string): (() => void) => {
  if ((sizeOf(file) ?? 0) > 0) throw damageError(lockFinding(file));
  try {
    const lock = holdLock(file);
    return () => lock.close();
  } catch (error) {
    if (!isUnavailability(error)) throw error;
    throw new Error(`another server uses the data directory ${directory}`, { cause: error });
  }
};

/** True when a server, of whatever version, holds the lock. */
export const isServerLockTaken = (file: string): boolean => {
  if (!existsSync(file)) return false;
  try {
    holdLock(file).close();
    return false;
  } catch (error) {
    if (!isUnavailability(error)) throw error;
    return true;
  }
};
