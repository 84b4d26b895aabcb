import { fchownSync, fstatSync, statSync } from "node:fs";

/** Gives a new file to the owner of another one. The service could not open what a command makes as root otherwise. */
export const giveToOwnerOf = (descriptor: number, model: string): void => {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(model);
  const own = fstatSync(descriptor);
  if (own.uid === uid && own.gid === gid) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch {
    // A root that may not give files away, as in some containers, is the service's user as well.
  }
};
