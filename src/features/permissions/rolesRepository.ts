import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { RoleDocument } from "../../platform/storage/port/documents.ts";
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
import { foldCase } from "../../platform/util/foldCase.ts";

export interface NewRole {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly permissionIds: readonly string[];
}

export interface RolesRepository {
  /** Those of the ids whose role is not deleted, in no order. */
  readonly findMany: (ids: readonly string[], options?: OperationOptions) => Promise<RoleDocument[]>;
  /** By name, without regard to letter case; callers that need the exact name compare it. */
  readonly findManyByName: (names: readonly string[], options?: OperationOptions) => Promise<RoleDocument[]>;
  readonly list: (page: PageRequest, options: OperationOptions) => Promise<Page<RoleDocument>>;
  /** Rejects with `DuplicateKeyError` when the name is taken in any letter case. */
  readonly insert: (role: NewRole, now: number, events: readonly AuditEvent[], options?: OperationOptions) => Promise<RoleDocument>;
  /** The role of this name, in any letter case, made if there is none. */
  readonly findOrCreate: (role: NewRole, now: number, events: readonly AuditEvent[], options?: OperationOptions) => Promise<RoleDocument>;
  readonly modify: Modify<RoleDocument>;
  /** Deletes for good and frees the name; keys keep the id of what is gone. False when it already was. */
  readonly delete: (roleId: string, now: number, events: readonly AuditEvent[], options?: ModifyOptions) => Promise<boolean>;
}

/** How role names compare where letter case is no matter (permissions §1). */
export const nameKey: (name: string) => string = foldCase;

/** What of a role is searched (permissions §1). */
export const roleSearch = ({ id, name, description }: Pick<NewRole, "id" | "name" | "description">): string =>
  searchText(id, name, description);

/** @param moveEvents see `createModify`. */
export const createRolesRepository = (store: Store, moveEvents?: MoveEvents): RolesRepository => {
  const roles = store.collection("roles");
  const modify = createModify(store, "roles", moveEvents);
  const remove = createRemove(roles, modify);

  const findManyByName: RolesRepository["findManyByName"] = (names, options) =>
    roles.find({ workspaceId: WORKSPACE_ID, nameKey: { $in: names.map(nameKey) }, ...notDeleted }, options).toArray();

  const insert: RolesRepository["insert"] = async (newRole, now, events, options) => {
    const { id, name, description, permissionIds } = newRole;
    const role: RoleDocument = {
      ...newDocument(id, now, events),
      name,
      nameKey: nameKey(name),
      ...(description ? { description } : {}),
      search: roleSearch(newRole),
      permissionIds,
      revision: 0,
    };
    await roles.insertOne(role, options);
    return role;
  };

  return {
    findMany: (ids, options) => roles.find({ _id: { $in: ids }, ...notDeleted }, options).toArray(),
    findManyByName,
    list: (page, options) => readPage(roles, {}, page, options),
    insert,
    findOrCreate: (role, now, events, options) =>
      insertOrReuse(
        async () => (await findManyByName([role.name], options))[0] ?? null,
        () => insert(role, now, events, options),
      ),
    modify,
    delete: (roleId, now, events, options) =>
      remove(roleId, { $set: { deletedAt: now, erased: true, sweepFrom: now }, $unset: { nameKey: "", search: "" } }, events, options),
  };
};
