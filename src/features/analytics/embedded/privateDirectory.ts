import { chmod, mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

const OWNERS_DIRECTORY = 0o700;
const OWNERS_FILE = 0o600;
/** What anyone but the owner may do. */
const OTHERS = 0o077;

/**
 * Makes a directory that only its owner can enter, whatever the umask. One that others could enter is closed, with all
 * that is in it: its files may have been made when nothing kept them private.
 */
export const makePrivateDirectory = async (directory: string): Promise<void> => {
  await mkdir(directory, { recursive: true, mode: OWNERS_DIRECTORY });
  if (((await stat(directory)).mode & OTHERS) === 0) return;
  // First: from now on nobody else reaches what is below.
  await chmod(directory, OWNERS_DIRECTORY);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    // A link would be followed to what it leads to.
    if (!entry.isDirectory() && !entry.isFile()) continue;
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? OWNERS_DIRECTORY : OWNERS_FILE);
  }
};
