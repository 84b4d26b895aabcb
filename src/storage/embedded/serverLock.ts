import { linkSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { damageError, lockFinding } from "./damage/findings.ts";
import { isDamage, isUnavailability } from "./sqlite/sqliteErrors.ts";
import { removeDatabase, sizeOf } from "./storeFiles.ts";

/** Longer than somebody takes who only looks whether there is a server. */
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
 * way: by the lock on a file of its own. Throws when another one holds it.
 */
export const takeServerLock = (file: string, directory: string): (() => void) => {
  refuseSecondServer(file, directory);
  if ((sizeOf(file) ?? 0) > 0) throw damageError(lockFinding(file));
  try {
    const lock = holdLock(file, PATIENCE_MS);
    return () => lock.close();
  } catch (error) {
    if (!isUnavailability(error)) throw error;
    throw anotherServer(directory, error);
  }
};

/** Throws when another one holds the lock, whatever the file holds by now. */
export const refuseSecondServer = (file: string, directory: string): void => {
  if ((sizeOf(file) ?? 0) > 0 && isServerLockTaken(file)) throw anotherServer(directory);
};

/**
 * Throws when another process, which need not be a service, has the database open: it would go on with the file that was replaced. That
 * cannot be told of one that is no database any more.
 */
export const refuseWhileOpen = (file: string): void => {
  // Locks are on what the name stands for. Under another one the file has no log, into which closing it would reach.
  const link = `${file}.look`;
  removeDatabase(link);
  try {
    linkSync(file, link);
  } catch {
    // There is none, or not on a file system that knows links.
    return;
  }
  const database = new DatabaseSync(link, { timeout: PATIENCE_MS });
  try {
    // Whoever uses a log of commits shares the lock for as long as he is connected.
    database.exec("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK");
  } catch (error) {
    if (isUnavailability(error)) throw new Error(`another process has ${file} open: end it first`, { cause: error });
    if (!isDamage(error)) throw error;
  } finally {
    database.close();
    removeDatabase(link);
  }
};

/** True when a server, of whatever version, holds the lock. */
export const isServerLockTaken = (file: string): boolean => {
  if (sizeOf(file) === undefined) return false;
  try {
    holdLock(file, 0).close();
    return false;
  } catch (error) {
    // What holds something is no lock, unless it came to do so while it was one: then the lock is met before what it holds.
    if (isDamage(error)) return false;
    if (!isUnavailability(error)) throw error;
    return true;
  }
};
