import { newDocument, notDeleted } from "./audited.ts";
import type { OperationOptions } from "./collection.ts";
import { type AuditEvent, type RoleDocument, WORKSPACE_ID } from "./documents.ts";
import { insertOrReuse } from "./insertOrReuse.ts";
import type { Store } from "./store.ts";

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
  /** Rejects with `DuplicateKeyError` when the name is taken in any letter case. */
  readonly insert: (role: NewRole, now: number, events: readonly AuditEvent[], options?: OperationOptions) => Promise<RoleDocument>;
  /** The role of this name, in any letter case, made if there is none. */
  readonly findOrCreate: (role: NewRole, now: number, events: readonly AuditEvent[], options?: OperationOptions) => Promise<RoleDocument>;
}

const nameKey = (name: string): string => name.toLowerCase();

export const createRolesRepository = (store: Store): RolesRepository => {
  const roles = store.collection("roles");

  const findManyByName: RolesRepository["findManyByName"] = (names, options) =>
    roles.find({ workspaceId: WORKSPACE_ID, nameKey: { $in: names.map(nameKey) }, ...notDeleted }, options).toArray();

  const insert: RolesRepository["insert"] = async ({ id, name, description, permissionIds }, now, events, options) => {
    const role: RoleDocument = {
      ...newDocument(id, now, events),
      name,
      nameKey: nameKey(name),
      ...(description ? { description } : {}),
      permissionIds,
      revision: 0,
    };
    await roles.insertOne(role, options);
    return role;
  };

  return {
    findMany: (ids, options) => roles.find({ _id: { $in: ids }, ...notDeleted }, options).toArray(),
    findManyByName,
    insert,
    findOrCreate: (role, now, events, options) =>
      insertOrReuse(
        async () => (await findManyByName([role.name], options))[0] ?? null,
        () => insert(role, now, events, options),
      ),
  };
};
