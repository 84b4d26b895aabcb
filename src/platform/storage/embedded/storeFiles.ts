import { closeSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { giveToOwnerOf } from "./ownership.ts";

/** What a data directory holds, apart from the events of analytics. */
export interface StoreFiles {
  /** The state: the only file that cannot be rebuilt. */
  readonly database: string;
  /** Commits that are not yet in `database`. SQLite makes and removes it. */
  readonly wal: string;
  /** Counts of rate limits, a database of its own. */
  readonly counters: string;
  /** Empty: what counts is who has locked it. */
  readonly lock: string;
  /** Written by the first start, for people. */
  readonly rootKey: string;
}

export const filesIn = (directory: string): StoreFiles => {
  const database = join(directory, "latchkey.sqlite");
  return {
    database,
    wal: `${database}-wal`,
    counters: join(directory, "counters.sqlite"),
    lock: join(directory, "latchkey.lock"),
    rootKey: join(directory, "root-key"),
  };
};

/** A database and what SQLite keeps next to it: its log, the index of that, and a journal while there is no log yet. */
export const databaseFiles = (file: string): readonly string[] => ["", "-wal", "-shm", "-journal"].map((suffix) => `${file}${suffix}`);

/** Bytes; undefined for what is no file. Opens nothing: to close a file again would drop SQLite's locks on it. */
export const sizeOf = (file: string): number | undefined => {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : undefined;
};

/** Makes the file, for the owner of its directory only, when it is missing. `wx` never opens a file that is there: closing it again would drop the locks that this process holds on it. */
export const createPrivately = (file: string): void => {
  try {
    const descriptor = openSync(file, "wx", 0o600);
    giveToOwnerOf(descriptor, dirname(file));
    closeSync(descriptor);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
};
