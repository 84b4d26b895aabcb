import { memorySize } from "../cache/memorySize.ts";
import { type GrantedPermissions, grantPermissions } from "../domain/permissionQuery.ts";

/** Sets that are remembered, and the longest that are: beyond that hardly two keys have the same. */
const CAPACITY = 10_000;
const MAX_SLUGS = 100;

/** Most keys of an API hold one of a few sets of permissions: those who hold the same share it. */
export interface SharedGrants {
  readonly of: (slugs: readonly string[]) => GrantedPermissions;
  /** Bytes to count for one who holds the set: all of it for the first, nothing for the others. */
  readonly shareOf: (granted: GrantedPermissions) => number;
}

export const createSharedGrants = (): SharedGrants => {
  const known = new Map<string, GrantedPermissions>();
  const counted = new WeakSet<GrantedPermissions>();
  return {
    of: (slugs) => {
      if (slugs.length > MAX_SLUGS) return grantPermissions(slugs);
      // No slug holds a line break.
      const name = [...slugs].sort().join("\n");
      const found = known.get(name);
      if (found !== undefined) return found;
      if (known.size >= CAPACITY) known.clear();
      const granted = grantPermissions(slugs);
      known.set(name, granted);
      return granted;
    },
    shareOf: (granted) => {
      if (counted.has(granted)) return 0;
      counted.add(granted);
      // The list, and a set of the same.
      return 3 * memorySize(granted.slugs);
    },
  };
};
