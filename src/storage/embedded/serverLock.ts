import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isUnavailability } from "./sqliteErrors.ts";

/**
 * Makes this process the only server of a directory, until the returned function is called or the process ends in any
 * way: the operating system's lock on a file of its own, held by a transaction that never ends.
 * Throws when another one holds it.
 */
export const takeServerLock = (file: string, directory: string): (() => void) => {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (!isUnavailability(error)) throw error;
    throw new Error(`another server uses the data directory ${directory}`, { cause: error });
  }
  return () => lock.close();
};

/** True when a server, of whatever version, holds the lock. */
export const isServerLockTaken = (file: string): boolean => {
  if (!existsSync(file)) return false;
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return false;
  } catch (error) {
    if (!isUnavailability(error)) throw error;
    return true;
  } finally {
    lock.close();
  }
};
