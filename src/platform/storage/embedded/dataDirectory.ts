import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { giveToOwnerOf } from "./ownership.ts";
import type { StoreFiles } from "./storeFiles.ts";

const whoever = (): string => (process.getuid === undefined ? "this user" : `user ${process.getuid()}`);

/** What is wrong and what an operator can do, by the system's code for it. */
const explain = (error: unknown, path: string): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EEXIST" || code === "ENOTDIR") return `${path} is not a directory`;
  if (code === "EROFS") return `${path} is on a read-only file system: mount a volume there`;
  if (code === "EACCES" || code === "EPERM") return `${whoever()} may not read and write ${path}: give it to that user`;
  return `${path} cannot be used: ${message}`;
};

const requireAccess = (path: string): void => {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new Error(`DATA_DIR: ${explain(error, path)}`, { cause: error });
  }
};

/** Node's own error of a recursive `mkdir` does not say which directory refused. */
const explainMissing = (error: unknown, directory: string): string => {
  const parent = dirname(directory);
  if (!existsSync(parent) && parent !== directory) return explainMissing(error, parent);
  const { code } = error as NodeJS.ErrnoException;
  if (!["ENOENT", "EACCES", "EPERM", "EROFS"].includes(code ?? "")) return explain(error, directory);
  return `${directory} is missing, and ${whoever()} may not make it in ${parent}: make it for that user, or mount a volume there`;
};

/**
 * Makes the data directory for its owner only when it is missing. Made by root it belongs to the owner of the directory that it is in, as
 * its files do: the service has to get to them. Throws, naming the setting, the path and the mend, when it cannot be made, or it or a file
 * of the store cannot be read and written: before anything is opened.
 */
export const makeDataDirectory = (directory: string, files: StoreFiles): void => {
  const whole = resolve(directory);
  try {
    const first = mkdirSync(whole, { recursive: true, mode: 0o700 });
    for (let made = whole; first !== undefined && made.length >= first.length; made = dirname(made)) {
      const descriptor = openSync(made, "r");
      giveToOwnerOf(descriptor, dirname(first));
      closeSync(descriptor);
    }
  } catch (error) {
    throw new Error(`DATA_DIR: ${existsSync(whole) ? explain(error, directory) : explainMissing(error, whole)}`, { cause: error });
  }
  for (const path of [directory, files.database, files.lock]) if (existsSync(path)) requireAccess(path);
};
