import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { PermissionDocument } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { newDocument, notDeleted } from "../../platform/storage/repositories/shared/audited.ts";
import { insertOrReuse } from "../../platform/storage/repositories/shared/insertOrReuse.ts";
import {
  createModify,
  createRemove,
  type Modify,
  type ModifyOptions,
  type MoveEvents,
} from "../../platform/storage/repositories/shared/modify.ts";
import { type Page, type PageRequest, readPage, searchText } from "../../platform/storage/repositories/shared/page.ts";

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
  readonly list: (page: PageRequest, options: OperationOptions) => Promise<Page<PermissionDocument>>;
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
  readonly modify: Modify<PermissionDocument>;
  /** Deletes for good and frees the slug; keys and roles keep the id of what is gone. False when it already was. */
  readonly delete: (permissionId: string, now: number, events: readonly AuditEvent[], options?: ModifyOptions) => Promise<boolean>;
}

/** How slugs compare: without regard to letter case (permissions §1). */
export const slugKey = (slug: string): string => slug.toLowerCase();

/** What of a permission is searched (permissions §1). */
export const permissionSearch = ({ id, name, slug, description }: NewPermission): string => searchText(id, name, slug, description);

/** @param moveEvents see `createModify`. */
export const createPermissionsRepository = (store: Store, moveEvents?: MoveEvents): PermissionsRepository => {
  const permissions = store.collection("permissions");
  const modify = createModify(store, "permissions", moveEvents);
  const remove = createRemove(permissions, modify);

  const findManyBySlug: PermissionsRepository["findManyBySlug"] = (slugs, options) =>
    permissions.find({ workspaceId: WORKSPACE_ID, slugKey: { $in: slugs.map(slugKey) }, ...notDeleted }, options).toArray();

  const insert: PermissionsRepository["insert"] = async (permission, now, events, options) => {
    const { id, name, slug, description } = permission;
    const document: PermissionDocument = {
      ...newDocument(id, now, events),
      name,
      slug,
      slugKey: slugKey(slug),
      ...(description ? { description } : {}),
      search: permissionSearch(permission),
      revision: 0,
    };
    await permissions.insertOne(document, options);
    return document;
  };

  return {
    findMany: (ids, options) => permissions.find({ _id: { $in: ids }, ...notDeleted }, options).toArray(),
    findManyBySlug,
    list: (page, options) => readPage(permissions, {}, page, options),
    insert,
    findOrCreate: (permission, now, events, options) =>
      insertOrReuse(
        async () => (await findManyBySlug([permission.slug], options))[0] ?? null,
        () => insert(permission, now, events, options),
      ),
    modify,
    delete: (permissionId, now, events, options) =>
      remove(
        permissionId,
        { $set: { deletedAt: now, erased: true, sweepFrom: now }, $unset: { slugKey: "", search: "" } },
        events,
        options,
      ),
  };
};
