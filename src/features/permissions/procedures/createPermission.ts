import type { CreatePermissionRequestSchema, CreatePermissionResponseSchema } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { create } from "../../calls/mutations.ts";
import { permissionExists } from "../findPermission.ts";
import type { PermissionsRepository } from "../permissionsRepository.ts";

/** Defines a permission; its slug is unique without regard to letter case (permissions §2). */
export const createPermission =
  ({
    permissions,
  }: {
    readonly permissions: PermissionsRepository;
  }): Procedure<typeof CreatePermissionRequestSchema, typeof CreatePermissionResponseSchema> =>
  async ({ name, slug, description }, call) => {
    requirePermissions(call.caller, ["rbac.create_permission", "*"]);
    const id = call.newId("perm");
    const permission = { id, name, slug, ...(description ? { description } : {}) };
    const events = [auditEvent(auditSource(call), "permission.create", `Created permission ${slug}`, resource("permission", id, slug))];
    const taken = () => permissionExists(slug);
    return create(call, { collection: "permissions", id, events, answer: { data: { permissionId: id } }, taken }, (marked) =>
      permissions.insert(permission, call.receivedAt, marked, call),
    );
  };
