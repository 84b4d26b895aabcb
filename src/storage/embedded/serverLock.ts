import { DatabaseSync } from "node:sqlite";
import { damageError, lockFinding } from "./findings.ts";
import { isUnavailability } from "./sqliteErrors.ts";
import { sizeOf } from "./storeFiles.ts";

/** Longer than somebody takes who only looks whether there is a server. */
const PATIENCE_MS = 250;

/** Holds the operating system's lock on a file, by a transaction that never ends, until it is closed. */
const holdLock = (file: string, patience: number): DatabaseSync => {
  const lock = new DatabaseSync(file, { timeout: patience });
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
    const lock = holdLock(file, PATIENCE_MS);
    return () => lock.close();
  } catch (error) {
    if (!isUnavailability(error)) throw error;
    throw new Error(`another server uses the data directory ${directory}`, { cause: error });
  }
};

/** True when a server, of whatever version, holds the lock. */
export const isServerLockTaken = (file: string): boolean => {
  // What holds something is no lock of ours.
  if (sizeOf(file) !== 0) return false;
  try {
    holdLock(file, 0).close();
    return false;
  } catch (error) {
    if (!isUnavailability(error)) throw error;
    return true;
  }
};
