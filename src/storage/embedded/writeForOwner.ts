import { closeSync, fsyncSync, openSync, writeFileSync } from "node:fs";
import { giveToOwnerOf } from "./ownership.ts";

/** Writes a new file, for the owner of the first of `models` that is there and nobody else; it is on disk when this returns. Throws when it exists. */
export const writeForOwner = (file: string, bytes: Uint8Array, ...models: readonly string[]): void => {
  const descriptor = openSync(file, "wx", 0o600);
  try {
    writeFileSync(descriptor, bytes);
    giveToOwnerOf(descriptor, ...models);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
