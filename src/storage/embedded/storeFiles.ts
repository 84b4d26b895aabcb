import { closeSync, openSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { giveToOwnerOf } from "./ownership.ts";

/** What a data directory holds, apart from the events of analytics. */
export interface StoreFiles {
  readonly database: string;
  /** Commits that are not yet in the database; SQLite makes and removes it, and the index of it. */
  readonly wal: string;
  readonly shm: string;
  /** What a change replaces, kept by SQLite until it is whole; only before the first start has switched to `wal`, and in copies. */
  readonly journal: string;
  readonly marks: string;
  readonly logs: readonly [string, string];
  /** Always empty: what counts is who has locked it. */
  readonly lock: string;
  /** Written by the first start, for people. */
  readonly rootKey: string;
}

export const filesIn = (directory: string): StoreFiles => {
  const database = join(directory, "latchkey.sqlite");
  return {
    database,
    wal: `${database}-wal`,
    shm: `${database}-shm`,
    journal: `${database}-journal`,
    marks: join(directory, "latchkey.marks"),
    logs: [join(directory, "counters-a.log"), join(directory, "counters-b.log")],
    lock: join(directory, "latchkey.lock"),
    rootKey: join(directory, "root-key"),
  };
};

/** Bytes; undefined for what is no file. Opens nothing: to close a file again would drop SQLite's locks on it. */
export const sizeOf = (file: string): number | undefined => {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : undefined;
};

/** Makes the file, for the owner of another one only, unless told of its directory, when it is missing. `wx` never opens a file that is there: closing it again would drop the locks that this process holds on it. */
export const createPrivately = (file: string, like: string = dirname(file)): void => {
  try {
    const descriptor = openSync(file, "wx", 0o600);
    giveToOwnerOf(descriptor, like);
    closeSync(descriptor);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
};

/** Removes a database, if it is there, and what SQLite keeps beside it. */
export const removeDatabase = (file: string): void => {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${file}${suffix}`, { force: true });
};
