import { memorySize } from "../../platform/cache/memorySize.ts";
import { type GrantedPermissions, grantPermissions } from "../permissions/permissionQuery.ts";

/** The longest sets that are shared: beyond that hardly two keys have the same. */
const MAX_SLUGS = 100;
/** What remembering one takes beside its name: its place in the map, and what tells that it is gone. */
const OWN_BYTES = 250;

/** Most keys of an API hold one of a few sets of permissions: those who hold the same share it, for as long as one of them does. */
export interface SharedGrants {
  readonly of: (slugs: readonly string[]) => GrantedPermissions;
  /** Bytes that a set weighs with each who holds it: those that are shared weigh here, and nowhere else. */
  readonly weightOf: (granted: GrantedPermissions) => number;
  /** Bytes of all that are shared, never more than `maxBytes`: beyond that everybody has a set of his own. */
  readonly bytes: () => number;
}

/** The list, and a set of the same. */
const sizeOf = ({ slugs }: GrantedPermissions): number => 3 * memorySize(slugs);

export const createSharedGrants = (maxBytes: number): SharedGrants => {
  const known = new Map<string, WeakRef<GrantedPermissions>>();
  const shared = new WeakSet<GrantedPermissions>();
  let bytes = 0;
  const gone = new FinalizationRegistry<{ readonly name: string; readonly size: number }>(({ name, size }) => {
    bytes -= size;
    // Unless there is another one by now.
    if (known.get(name)?.deref() === undefined) known.delete(name);
  });
  return {
    of: (slugs) => {
      if (slugs.length > MAX_SLUGS) return grantPermissions(slugs);
      // No slug holds a line break.
      const name = [...slugs].sort().join("\n");
      const found = known.get(name)?.deref();
      if (found !== undefined) return found;
      const granted = grantPermissions(slugs);
      const size = sizeOf(granted) + memorySize(name) + OWN_BYTES;
      if (bytes + size > maxBytes) return granted;
      bytes += size;
      known.set(name, new WeakRef(granted));
      shared.add(granted);
      gone.register(granted, { name, size });
      return granted;
    },
    weightOf: (granted) => (shared.has(granted) ? 0 : sizeOf(granted)),
    bytes: () => bytes,
  };
};
