import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync } from "node:fs";
import { basename, dirname } from "node:path";
import { giveToOwnerOf } from "../ownership.ts";
import { sizeOf } from "../storeFiles.ts";
import { syncDirectory } from "../syncDirectory.ts";

/** Puts damaged files where they do no harm and nothing is lost. Both functions take what is there of these files, and return the end of a sentence that says its new names. */
export interface Quarantine {
  /** One after the other. */
  readonly setAside: (...files: readonly string[]) => string;
  /** On disk, so that the original may be replaced; nothing of a file that is empty. */
  readonly keepCopy: (...files: readonly string[]) => string;
}

/** Keeps files under their name and a suffix; a log of SQLite's stays beside its database. */
export const createQuarantine = (database: string, suffix: string): Quarantine => {
  const freeNameOf = (file: string): string => {
    const wal = file.startsWith(`${database}-`) ? file.slice(database.length) : "";
    const base = file.slice(0, file.length - wal.length);
    for (let n = 1; ; n++) {
      const name = `${base}${suffix}${n === 1 ? "" : `-${n}`}${wal}`;
      if (!existsSync(name)) return name;
    }
  };
  const keep = (files: readonly string[], take: (file: string, name: string) => void): string => {
    const all = files.map((file) => [file, freeNameOf(file)] as const);
    for (const [file, name] of all) take(file, name);
    if (all.length === 0) return "";
    syncDirectory(dirname(database));
    return `; kept as ${all.map(([, name]) => basename(name)).join(", ")}`;
  };
  const copy = (file: string, name: string): void => {
    copyFileSync(file, name);
    const descriptor = openSync(name, "r+");
    giveToOwnerOf(descriptor, file);
    fsyncSync(descriptor);
    closeSync(descriptor);
  };

  return {
    setAside: (...files) => keep(files.filter(existsSync), renameSync),
    keepCopy: (...files) =>
      keep(
        files.filter((file) => (sizeOf(file) ?? 0) > 0),
        copy,
      ),
  };
};
