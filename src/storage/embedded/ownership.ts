import { existsSync, fchownSync, fstatSync, statSync } from "node:fs";

/**
 * Gives a new file to the owner of the first of these that is there. What root makes, for a command or a repair, the service would not be
 * able to open otherwise.
 */
export const giveToOwnerOf = (descriptor: number, ...models: readonly string[]): void => {
  if (process.geteuid?.() !== 0) return;
  const model = models.find(existsSync);
  if (model === undefined) return;
  const { uid, gid } = statSync(model);
  const own = fstatSync(descriptor);
  if (own.uid === uid && own.gid === gid) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch {
    // A root that may not give files away, as in some containers, is the service's user as well.
  }
};
