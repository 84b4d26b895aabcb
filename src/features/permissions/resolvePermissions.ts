import pMap from "p-map";
import { createId } from "../../platform/base/ids.ts";
import type { PermissionDocument } from "../../platform/storage/port/documents.ts";
import { chunks } from "../../platform/util/chunks.ts";
import { auditEvent, resource } from "../audit/auditEvent.ts";
import { auditSource } from "../calls/auditSource.ts";
import type { Call } from "../calls/call.ts";
import { type PermissionsRepository, slugKey } from "./permissionsRepository.ts";

/** Permissions of one read: it bounds the time that one may take. */
const LOOKED_UP = 1_000;
/** Permissions made at a time: a thousand at once would keep all of the store's connections from other calls. */
const PARALLEL = 16;

/** Two nodes that make the same list seldom meet at one slug: a server that is asked for one twice may have to undo one. */
const shuffled = <T>(items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);

const lookUp = async (
  keys: readonly string[],
  find: (keys: readonly string[]) => Promise<readonly PermissionDocument[]>,
): Promise<readonly PermissionDocument[]> => {
  const found: PermissionDocument[] = [];
  for (const chunk of chunks(keys, LOOKED_UP)) found.push(...(await find(chunk)));
  return found;
};

/** What granting a list of permissions takes: those that exist are found, the others made. */
export type GrantablePermissions = Pick<PermissionsRepository, "findMany" | "findManyBySlug" | "findOrCreate">;

/** What a list of permissions in a request refers to. */
export interface ResolvedPermissions {
  readonly existing: readonly PermissionDocument[];
  /** Items that no permission has as id or slug, each once, as first spelled. */
  readonly missing: readonly string[];
}

/**
 * Looks up a request's list of permissions: ids first, then slugs without regard to letter case; repeated items
 * collapse (permissions §1).
 */
export const resolvePermissions = async (
  permissions: Pick<GrantablePermissions, "findMany" | "findManyBySlug">,
  items: readonly string[],
  call: Call,
): Promise<ResolvedPermissions> => {
  const ids = new Set(items.filter((item) => item.startsWith("perm_")));
  const byId = await lookUp([...ids], (chunk) => permissions.findMany(chunk, call));
  const knownIds = new Set(byId.map((permission) => permission._id));

  const slugs = new Map<string, string>();
  for (const item of items) {
    const key = slugKey(item);
    if (!knownIds.has(item) && !slugs.has(key)) slugs.set(key, item);
  }
  const bySlug = await lookUp([...slugs.values()], (chunk) => permissions.findManyBySlug(chunk, call));
  for (const { slug } of bySlug) slugs.delete(slugKey(slug));

  const existing = new Map([...byId, ...bySlug].map((permission) => [permission._id, permission]));
  return { existing: [...existing.values()], missing: [...slugs.values()] };
};

/** Makes the missing permissions, each with name = slug = the item and an event of its own; concurrent calls share one. */
export const createMissingPermissions = async (
  permissions: Pick<GrantablePermissions, "findOrCreate">,
  { existing, missing }: ResolvedPermissions,
  call: Call,
): Promise<PermissionDocument[]> => {
  const made = await pMap(
    shuffled(missing),
    (slug) => {
      const id = createId("perm", call.receivedAt);
      const event = auditEvent(auditSource(call), "permission.create", `Created permission ${slug}`, resource("permission", id, slug));
      return permissions.findOrCreate({ id, name: slug, slug }, call.receivedAt, [event], call);
    },
    { concurrency: PARALLEL },
  );
  return [...existing, ...made];
};
