import type { CreateRoleRequestSchema, CreateRoleResponseSchema } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { PermissionDocument } from "../../../platform/storage/port/documents.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { create } from "../../calls/mutations.ts";
import { roleExists } from "../findPermission.ts";
import type { PermissionsRepository } from "../permissionsRepository.ts";
import { createMissingPermissions, resolvePermissions } from "../resolvePermissions.ts";
import { roleConnection } from "../roleConnection.ts";
import type { RolesRepository } from "../rolesRepository.ts";

export interface CreateRoleDeps {
  readonly permissions: PermissionsRepository;
  readonly roles: RolesRepository;
}

/** Defines a role; its name is unique without regard to letter case, missing permissions are made (permissions §6). */
export const createRole =
  ({ permissions, roles }: CreateRoleDeps): Procedure<typeof CreateRoleRequestSchema, typeof CreateRoleResponseSchema> =>
  async ({ name, description, permissions: items }, call) => {
    requirePermissions(
      call.caller,
      ["rbac.create_role", "*"],
      ...(items.length > 0 ? [["rbac.add_permission_to_role", "*"] as const] : []),
    );
    const resolved = await resolvePermissions(permissions, items, call);
    if (resolved.missing.length > 0) requirePermissions(call.caller, ["rbac.create_permission", "*"]);
    // Before the missing permissions are made: a refused call leaves none behind, unless it loses a race.
    if ((await roles.findManyByName([name], call)).length > 0) throw roleExists(name);

    const roleId = call.newId("role");
    const source = auditSource(call);
    const role = { _id: roleId, name };
    const events = (granted: readonly PermissionDocument[]) => [
      auditEvent(source, "role.create", `Created role ${name}`, resource("role", roleId, name)),
      ...granted.map((permission) => roleConnection(source, "authorization.connect_role_and_permission", role, permission)),
    ];
    const prepare = () => createMissingPermissions(permissions, resolved, call);
    const creation = { collection: "roles", id: roleId, prepare, events, answer: { data: { roleId } } } as const;
    return create(call, { ...creation, taken: () => roleExists(name) }, (marked, granted) => {
      const permissionIds = granted.map((permission) => permission._id);
      return roles.insert({ id: roleId, name, ...(description ? { description } : {}), permissionIds }, call.receivedAt, marked, call);
    });
  };
