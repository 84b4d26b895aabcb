import { closeSync, fsyncSync, openSync } from "node:fs";

/** So that a file which was made a moment ago is still there after the machine has lost power. */
export const syncDirectory = (directory: string): void => {
  try {
    const descriptor = openSync(directory, "r");
    fsyncSync(descriptor);
    closeSync(descriptor);
  } catch {
    // Not every system can open a directory; one that cannot needs no such thing.
  }
};
