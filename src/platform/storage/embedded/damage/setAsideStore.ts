import { existsSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { databaseFiles, type StoreFiles } from "../storeFiles.ts";
import { syncDirectory } from "../syncDirectory.ts";

/**
 * Renames the state file and the counters, with what SQLite keeps next to them, so that a restore finds no store. Nothing is deleted.
 * @returns the new name of the state file; undefined where there was none
 */
export const setAsideStore = ({ database, counters }: StoreFiles, clock: Clock): string | undefined => {
  const suffix = `.damaged-${new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
  const isThere = existsSync(database);
  for (const file of [counters, database]) {
    // SQLite finds the log of a database by its name.
    for (const part of databaseFiles(file)) if (existsSync(part)) renameSync(part, `${file}${suffix}${part.slice(file.length)}`);
  }
  syncDirectory(dirname(database));
  return isThere ? `${database}${suffix}` : undefined;
};
