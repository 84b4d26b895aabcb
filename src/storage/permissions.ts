import { newDocument, notDeleted } from "./audited.ts";
import type { OperationOptions } from "./collection.ts";
import { type AuditEvent, type PermissionDocument, WORKSPACE_ID } from "./documents.ts";
import { insertOrReuse } from "./insertOrReuse.ts";
import type { Store } from "./store.ts";

export interface NewPermission {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly description?: string;
}

export interface PermissionsRepository {
  /** Those of the ids whose permission is not deleted, in no order. */
  readonly findMany: (ids: readonly string[], options?: OperationOptions) => Promise<PermissionDocument[]>;
  /** By slug, without regard to letter case. */
  readonly findManyBySlug: (slugs: readonly string[], options?: OperationOptions) => Promise<PermissionDocument[]>;
  /** Rejects with `DuplicateKeyError` when the slug is taken in any letter case. */
  readonly insert: (
    permission: NewPermission,
    now: number,
    events: readonly AuditEvent[],
    options?: OperationOptions,
  ) => Promise<PermissionDocument>;
  readonly findOrCreate: (
    permission: NewPermission,
    now: number,
    events: readonly AuditEvent[],
    options?: OperationOptions,
  ) => Promise<PermissionDocument>;
}

/** How slugs compare: without regard to letter case (permissions §1). */
export const slugKey = (slug: string): string => slug.toLowerCase();

export const createPermissionsRepository = (store: Store): PermissionsRepository => {
  const permissions = store.collection("permissions");

  const findManyBySlug: PermissionsRepository["findManyBySlug"] = (slugs, options) =>
    permissions.find({ workspaceId: WORKSPACE_ID, slugKey: { $in: slugs.map(slugKey) }, ...notDeleted }, options).toArray();

  const insert: PermissionsRepository["insert"] = async ({ id, name, slug, description }, now, events, options) => {
    const document: PermissionDocument = {
      ...newDocument(id, now, events),
      name,
      slug,
      slugKey: slugKey(slug),
      ...(description ? { description } : {}),
    };
    await permissions.insertOne(document, options);
    return document;
  };

  return {
    findMany: (ids, options) => permissions.find({ _id: { $in: ids }, ...notDeleted }, options).toArray(),
    findManyBySlug,
    insert,
    findOrCreate: (permission, now, events, options) =>
      insertOrReuse(
        async () => (await findManyBySlug([permission.slug], options))[0] ?? null,
        () => insert(permission, now, events, options),
      ),
  };
};
