import type { Behalf } from "../../platform/base/behalf.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Cached } from "../../platform/cache/cacheEntry.ts";
import type { Contact } from "../../platform/cache/contact.ts";
import { type CacheSize, createCache } from "../../platform/cache/createCache.ts";
import type { Invalidations } from "../../platform/cache/invalidations.ts";
import type { NamespaceDocument } from "../../platform/storage/port/documents.ts";
import { namespaceTag, overridesTag } from "../../platform/storage/port/tags.ts";
import type { NamespacesRepository } from "./namespacesRepository.ts";
import { compileOverrides, type OverrideMatcher } from "./overridePattern.ts";
import type { LiveOverride, OverridesRepository } from "./overridesRepository.ts";

/** A namespace with what its checks need. */
export interface CachedNamespace {
  readonly namespace: NamespaceDocument;
  readonly overrides: OverrideMatcher<LiveOverride>;
}

export interface NamespaceCache extends CacheSize {
  /** By id or name, as requests name it; null when there is none. A deleted one is found, too. */
  readonly get: (idOrName: string, behalf: Behalf) => Cached<CachedNamespace | null> | Promise<Cached<CachedNamespace | null>>;
}

export interface NamespaceCacheOptions {
  readonly clock: Clock;
  readonly invalidations: Invalidations;
  readonly contact: Contact;
  readonly namespaces: NamespacesRepository;
  readonly overrides: OverridesRepository;
  readonly maxBytes: number;
  readonly onAccess?: (hit: boolean) => void;
}

export const createNamespaceCache = ({
  clock,
  invalidations,
  contact,
  namespaces,
  overrides,
  maxBytes,
  onAccess,
}: NamespaceCacheOptions): NamespaceCache =>
  createCache<CachedNamespace | null>({
    clock,
    invalidations,
    contact,
    maxBytes,
    ...(onAccess ? { onAccess } : {}),
    load: async (idOrName, behalf) => {
      const sentAt = clock.monotonic();
      const namespace = await namespaces.find(idOrName, behalf);
      // That there is none is not worth remembering: the next check makes it.
      if (namespace === null) return { value: null, dependsOn: [namespaceTag(idOrName)], sentAt, maxAge: 0 };
      const dependsOn = [namespaceTag(idOrName), namespace._id, overridesTag(namespace._id)];
      return { value: { namespace, overrides: compileOverrides(await overrides.listAll(namespace._id, behalf)) }, dependsOn, sentAt };
    },
  });
