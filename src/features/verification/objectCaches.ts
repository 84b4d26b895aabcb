import type { Behalf } from "../../platform/base/behalf.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createBatchLoader } from "../../platform/cache/batchLoader.ts";
import type { Cached } from "../../platform/cache/cacheEntry.ts";
import type { Contact } from "../../platform/cache/contact.ts";
import { type Cache, type CacheSize, createCache, sizeOfAll } from "../../platform/cache/createCache.ts";
import type { Invalidations } from "../../platform/cache/invalidations.ts";
import type { ApiDocument, IdentityDocument, PermissionDocument, RoleDocument } from "../../platform/storage/port/documents.ts";
import type { ApisRepository } from "../apis/apisRepository.ts";
import type { IdentitiesRepository } from "../identities/identitiesRepository.ts";
import type { PermissionsRepository } from "../permissions/permissionsRepository.ts";
import type { RolesRepository } from "../permissions/rolesRepository.ts";

/**
 * The objects that keys share, cached one by one: a cold key then costs one read. Null = does not exist, or deleted. Those
 * that are read together are read for nobody in particular.
 */
export interface ObjectCaches extends CacheSize {
  readonly api: (id: string, behalf: Behalf) => Cached<ApiDocument | null> | Promise<Cached<ApiDocument | null>>;
  readonly identity: (id: string, behalf: Behalf) => Cached<IdentityDocument | null> | Promise<Cached<IdentityDocument | null>>;
  readonly role: (id: string) => Cached<RoleDocument | null> | Promise<Cached<RoleDocument | null>>;
  readonly permission: (id: string) => Cached<PermissionDocument | null> | Promise<Cached<PermissionDocument | null>>;
}

export interface ObjectCachesOptions {
  readonly clock: Clock;
  readonly invalidations: Invalidations;
  readonly contact: Contact;
  readonly apis: ApisRepository;
  readonly identities: IdentitiesRepository;
  readonly roles: RolesRepository;
  readonly permissions: PermissionsRepository;
  /** Of each of the four kinds. */
  readonly maxBytes: number;
}

export const createObjectCaches = (options: ObjectCachesOptions): ObjectCaches => {
  const { clock, invalidations, contact, apis, identities, roles, permissions, maxBytes } = options;
  const cacheOf = <D>(find: (id: string, behalf: Behalf) => Promise<D | null>): Cache<D | null> =>
    createCache<D | null>({
      clock,
      invalidations,
      contact,
      isPart: true,
      maxBytes,
      load: async (id, behalf) => {
        const sentAt = clock.monotonic();
        return { value: await find(id, behalf), dependsOn: [id], sentAt };
      },
    });
  const api = cacheOf(apis.find);
  const identity = cacheOf(identities.find);
  const role = cacheOf(createBatchLoader((ids) => roles.findMany(ids)));
  const permission = cacheOf(createBatchLoader((ids) => permissions.findMany(ids)));
  return {
    api: api.get,
    identity: identity.get,
    role: role.get,
    permission: permission.get,
    ...sizeOfAll([api, identity, role, permission]),
  };
};
