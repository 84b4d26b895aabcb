import { newDocument, notDeleted } from "./audited.ts";
import type { OperationOptions } from "./collection.ts";
import { type AuditEvent, type RoleDocument, WORKSPACE_ID } from "./documents.ts";
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
  readonly insert: (role: NewRole, now: number, events: readonly AuditEvent[], options?: OperationOptions) => Promise<void>;
}

const nameKey = (name: string): string => name.toLowerCase();

export const createRolesRepository = (store: Store): RolesRepository => {
  const roles = store.collection("roles");
  return {
    findMany: (ids, options) => roles.find({ _id: { $in: ids }, ...notDeleted }, options).toArray(),
    findManyByName: (names, options) =>
      roles.find({ workspaceId: WORKSPACE_ID, nameKey: { $in: names.map(nameKey) }, ...notDeleted }, options).toArray(),
    insert: async ({ id, name, description, permissionIds }, now, events, options) => {
      const role: RoleDocument = {
        ...newDocument(id, now, events),
        name,
        nameKey: nameKey(name),
        ...(description ? { description } : {}),
        permissionIds,
        revision: 0,
      };
      await roles.insertOne(role, options);
    },
  };
};
