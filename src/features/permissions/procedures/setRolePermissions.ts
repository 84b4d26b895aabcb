import type { SetRolePermissionsRequestSchema, SetRolePermissionsResponseSchema } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { PermissionDocument, RoleDocument } from "../../../platform/storage/port/documents.ts";
import type { Modification } from "../../../platform/storage/repositories/shared/modify.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { change } from "../../calls/mutations.ts";
import { findRole, roleNotFound } from "../findPermission.ts";
import { showPermissions } from "../permissionObject.ts";
import { createMissingPermissions, resolvePermissions } from "../resolvePermissions.ts";
import { roleConnection } from "../roleConnection.ts";
import type { CreateRoleDeps } from "./createRole.ts";

/** Replaces a role's whole permission set; only the difference is written and audited (permissions §10). */
export const setRolePermissions =
  ({ roles, permissions }: CreateRoleDeps): Procedure<typeof SetRolePermissionsRequestSchema, typeof SetRolePermissionsResponseSchema> =>
  async (request, call) => {
    requirePermissions(call.caller, ["rbac.add_permission_to_role", "*"], ["rbac.remove_permission_from_role", "*"]);
    const named = request.role ?? request.roleId ?? "";
    const found = await findRole(roles, named, call);
    const resolved = await resolvePermissions(permissions, request.permissions?.values ?? [], call);
    if (resolved.missing.length > 0) requirePermissions(call.caller, ["rbac.create_permission", "*"]);
    const source = auditSource(call);
    const decide = async (role: RoleDocument, granted: readonly PermissionDocument[]): Promise<Modification<RoleDocument> | undefined> => {
      const ids = granted.map((permission) => permission._id);
      const [held, wanted] = [new Set(role.permissionIds), new Set(ids)];
      const added = granted.filter(({ _id }) => !held.has(_id));
      const others = role.permissionIds.filter((id) => !wanted.has(id));
      // A deleted one is not found: its connection went with it (permissions §5), that is no change any more.
      const removed = others.length === 0 ? [] : await permissions.findMany(others, call);
      if (added.length === 0 && removed.length === 0) return undefined;
      const events = [
        ...removed.map((permission) => roleConnection(source, "authorization.disconnect_role_and_permissions", role, permission)),
        ...added.map((permission) => roleConnection(source, "authorization.connect_role_and_permission", role, permission)),
      ];
      return { update: { $set: { permissionIds: ids, updatedAt: call.receivedAt } }, events };
    };
    const gone = () => roleNotFound(named);
    const prepare = () => createMissingPermissions(permissions, resolved, call);
    const answer = async ({ permissionIds }: RoleDocument) => ({
      data: showPermissions(permissionIds.length === 0 ? [] : await permissions.findMany(permissionIds, call)),
    });
    return change(call, { collection: "roles", modify: roles.modify, found, gone, prepare, answer }, decide);
  };
