import type { SetRolePermissionsRequestSchema, SetRolePermissionsResponseSchema } from "../../../gen/latchkey/v2/permissions_pb.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import type { RoleDocument } from "../../storage/documents.ts";
import type { Change } from "../../storage/modify.ts";
import { auditSource } from "../auditSource.ts";
import type { Procedure } from "../call.ts";
import type { CreateRoleDeps } from "./createRole.ts";
import { findRole, roleNotFound } from "./findPermission.ts";
import { showPermissions } from "./permissionObject.ts";
import { createMissingPermissions, resolvePermissions } from "./resolvePermissions.ts";

/** Replaces a role's whole permission set; only the difference is written and audited (permissions §10). */
export const setRolePermissions =
  ({ roles, permissions }: CreateRoleDeps): Procedure<typeof SetRolePermissionsRequestSchema, typeof SetRolePermissionsResponseSchema> =>
  async (request, call) => {
    requirePermissions(call.caller, ["rbac.add_permission_to_role", "*"], ["rbac.remove_permission_from_role", "*"]);
    const named = request.role ?? request.roleId ?? "";
    const found = await findRole(roles, named, call);
    const resolved = await resolvePermissions(permissions, request.permissions?.values ?? [], call);
    if (resolved.missing.length > 0) requirePermissions(call.caller, ["rbac.create_permission", "*"]);
    const granted = await createMissingPermissions(permissions, resolved, call);

    const ids = granted.map((permission) => permission._id);
    const known = new Map((await permissions.findMany(found.permissionIds, call)).map(({ _id, slug }) => [_id, slug]));
    // Its connection went with a permission that was deleted (permissions §5): that is no change any more.
    const settled = new Set([...ids, ...found.permissionIds.filter((id) => !known.has(id))]);
    const source = auditSource(call);
    const decide = (role: RoleDocument): Change<RoleDocument> | undefined => {
      const held = new Set(role.permissionIds);
      const added = granted.filter(({ _id }) => !held.has(_id));
      const removed = role.permissionIds.filter((id) => !settled.has(id));
      if (added.length === 0 && removed.length === 0) return undefined;
      const target = resource("role", role._id, role.name);
      const events = [
        ...removed.map((id) =>
          auditEvent(
            source,
            "authorization.disconnect_role_and_permissions",
            `Disconnected role ${role.name} and permission ${known.get(id) ?? id}`,
            target,
            resource("permission", id, known.get(id)),
          ),
        ),
        ...added.map(({ _id, slug }) =>
          auditEvent(
            source,
            "authorization.connect_role_and_permission",
            `Connected role ${role.name} and permission ${slug}`,
            target,
            resource("permission", _id, slug),
          ),
        ),
      ];
      return { update: { $set: { permissionIds: ids, updatedAt: call.receivedAt } }, events };
    };
    if ((await roles.modify(found._id, decide, call)) === null) throw roleNotFound(named);
    return { data: showPermissions(granted) };
  };
