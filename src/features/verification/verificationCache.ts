import type { Behalf } from "../../platform/base/behalf.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Cached } from "../../platform/cache/cacheEntry.ts";
import type { Contact } from "../../platform/cache/contact.ts";
import { createCache } from "../../platform/cache/createCache.ts";
import type { Invalidations } from "../../platform/cache/invalidations.ts";
import { memorySize } from "../../platform/cache/memorySize.ts";
import { heldText } from "../../platform/util/jsonText.ts";
import type { KeysRepository } from "../keys/keysRepository.ts";
import type { ObjectCaches } from "./objectCaches.ts";
import { createSharedGrants } from "./sharedGrants.ts";
import { buildVerificationEntry, type VerificationEntry } from "./verificationEntry.ts";

/** How long "unknown key" is believed: it bounds what a flood of unknown keys costs the store (verify §12). */
const UNKNOWN_MAX_AGE_MS = 1_000;

export interface VerificationCache {
  /** By the key's hash; null when there is no live key with it. Rejects with `StoreUnavailableError`. */
  readonly get: (hash: string, behalf: Behalf) => Cached<VerificationEntry | null> | Promise<Cached<VerificationEntry | null>>;
  /** True when the store need not be asked at once. */
  readonly has: (hash: string) => boolean;
  readonly size: () => number;
  readonly bytes: () => number;
}

export interface VerificationCacheOptions {
  readonly clock: Clock;
  readonly invalidations: Invalidations;
  readonly contact: Contact;
  readonly keys: KeysRepository;
  readonly objects: ObjectCaches;
  readonly maxBytes: number;
  /** Of the sets of permissions that keys share. */
  readonly maxGrantBytes: number;
  readonly onAccess?: (hit: boolean) => void;
}

const metaSize = (meta: VerificationEntry["meta"]): number => (meta === undefined ? 0 : memorySize(heldText(meta)));

/**
 * Flattened entries by key hash (DESIGN §4). An entry depends on every object it was built from, is as old as the
 * oldest read behind it, and is void as soon as one of them changes.
 */
export const createVerificationCache = ({
  clock,
  invalidations,
  contact,
  keys,
  objects,
  maxBytes,
  maxGrantBytes,
  onAccess,
}: VerificationCacheOptions): VerificationCache => {
  const grants = createSharedGrants(maxGrantBytes);
  return createCache<VerificationEntry | null>({
    clock,
    invalidations,
    contact,
    maxBytes,
    // What edges keep of an answer is made later: of the metadata another text, and a binary form of twice its length, or so.
    sizeOf: (entry) =>
      entry === null
        ? 0
        : memorySize({ ...entry, permissions: undefined }) +
          grants.weightOf(entry.permissions) +
          4 * (metaSize(entry.meta) + metaSize(entry.identity?.meta)),
    ...(onAccess ? { onAccess } : {}),
    load: async (hash, behalf) => {
      const sentAt = clock.monotonic();
      const key = await keys.findByHash(hash, behalf);
      // Until its first use with its migration, what is stored is another system's hash of it (verify §8).
      if (key === null || key.pendingMigrationId !== undefined)
        return { value: null, dependsOn: [hash], sentAt, maxAge: UNKNOWN_MAX_AGE_MS };

      const [api, identity, roles] = await Promise.all([
        objects.api(key.apiId, behalf),
        key.identityId === undefined ? undefined : objects.identity(key.identityId, behalf),
        Promise.all(key.roleIds.map((id) => objects.role(id))),
      ]);
      const liveRoles = roles.flatMap((role) => role.value ?? []);
      const permissionIds = new Set([...key.permissionIds, ...liveRoles.flatMap((role) => role.permissionIds)]);
      const permissions = await Promise.all([...permissionIds].map((id) => objects.permission(id)));

      const parts = [api, ...(identity ? [identity] : []), ...roles, ...permissions];
      // Not one call of Math.min: a key may have more parts than a call may have arguments.
      const oldest = parts.reduce((earliest, part) => Math.min(earliest, part.readAt), sentAt);
      const sureUntil = parts.reduce((earliest, part) => Math.min(earliest, part.sureUntil), Number.POSITIVE_INFINITY);
      // Exactly as long as needed: one is kept for every cached key.
      const dependsOn = [hash, key._id, ...parts.flatMap((part) => part.dependsOn)].slice();
      if (api.value === null) return { value: null, dependsOn, sentAt: oldest, sureUntil };
      const entry = buildVerificationEntry(
        {
          api: api.value,
          key,
          identity: identity?.value ?? null,
          roles: liveRoles,
          permissions: permissions.flatMap((permission) => permission.value ?? []),
        },
        grants.of,
      );
      return { value: entry, dependsOn, sentAt: oldest, sureUntil };
    },
  });
};
