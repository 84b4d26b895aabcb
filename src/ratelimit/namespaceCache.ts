import { type Cached, createCache } from "../cache/cache.ts";
import type { Invalidations } from "../cache/invalidations.ts";
import type { Clock } from "../domain/clock.ts";
import type { NamespaceDocument } from "../storage/documents.ts";
import { type NamespacesRepository, namespaceTag } from "../storage/namespaces.ts";

const CAPACITY = 50_000;

export interface NamespaceCache {
  /** By id or name, as requests name it; null when there is none. A deleted one is found, too. */
  readonly get: (idOrName: string) => Cached<NamespaceDocument | null> | Promise<Cached<NamespaceDocument | null>>;
}

export interface NamespaceCacheOptions {
  readonly clock: Clock;
  readonly invalidations: Invalidations;
  readonly namespaces: NamespacesRepository;
  readonly onAccess?: (hit: boolean) => void;
}

export const createNamespaceCache = ({ clock, invalidations, namespaces, onAccess }: NamespaceCacheOptions): NamespaceCache =>
  createCache<NamespaceDocument | null>({
    clock,
    invalidations,
    capacity: CAPACITY,
    ...(onAccess ? { onAccess } : {}),
    load: async (idOrName) => {
      const sentAt = clock.monotonic();
      const namespace = await namespaces.find(idOrName);
      const dependsOn = [namespaceTag(idOrName), ...(namespace ? [namespace._id] : [])];
      // That there is none is not worth remembering: the next check makes it.
      return namespace ? { value: namespace, dependsOn, sentAt } : { value: null, dependsOn, sentAt, maxAge: 0 };
    },
  });
