import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

const MEMORY = "/dev/shm";
/** Bytes that have to be free: several times what a whole run writes there. Containers often have 64 MiB. */
const ROOM = 4 * 1024 ** 3;

const freeBytes = (): number => {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize;
  } catch {
    return 0;
  }
};

/**
 * Puts temporary files of this process and its children into memory, unless `TMPDIR` says where: stores of tests wait for
 * the disk at each write. A process that starts after a SIGKILL finds the files all the same. Does nothing on systems without
 * `/dev/shm`, or with less than 4 GiB free there. The returned function removes the files, also
 * while a process that was just killed is still leaving some.
 */
export const useFolderInMemory = (): (() => void) => {
  if (process.env.TMPDIR !== undefined || freeBytes() < ROOM) return () => undefined;
  const folder = mkdtempSync(join(MEMORY, "latchkey-tests-"));
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
};
