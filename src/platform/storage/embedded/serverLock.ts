import { truncateSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { StoreLog } from "../port/storeLog.ts";
import { isDamage, isUnavailability } from "./sqlite/sqliteErrors.ts";
import { createPrivately, sizeOf } from "./storeFiles.ts";

/** Longer than a process takes that only looks whether there is a server. */
const PATIENCE_MS = 250;

const anotherServer = (directory: string, cause?: unknown): Error =>
  new Error(`another server uses the data directory ${directory}`, { cause });

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
 * way: by the lock on a file of its own, which is made when it is missing, and emptied when it came to hold something. Throws
 * when another one holds it.
 */
export const takeServerLock = (file: string, directory: string, log?: StoreLog): (() => void) => {
  createPrivately(file);
  if ((sizeOf(file) ?? 0) > 0) {
    if (isServerLockTaken(file)) throw anotherServer(directory);
    log?.warn({ file }, "the lock file held something and was emptied");
    // The same file: another start may have locked it at this moment.
    truncateSync(file);
  }
  try {
    const lock = holdLock(file, PATIENCE_MS);
    return () => lock.close();
  } catch (error) {
    if (!isUnavailability(error)) throw error;
    throw anotherServer(directory, error);
  }
};

/** True when a server, of whatever version, holds the lock. */
export const isServerLockTaken = (file: string): boolean => {
  if (sizeOf(file) === undefined) return false;
  try {
    holdLock(file, 0).close();
    return false;
  } catch (error) {
    // A file with content is no lock, unless it came to hold that while it was locked: then the lock is met before the content.
    if (isDamage(error)) return false;
    if (!isUnavailability(error)) throw error;
    return true;
  }
};
