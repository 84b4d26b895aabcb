import type { DeletePermissionRequestSchema, DeletePermissionResponseSchema } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { remove } from "../../calls/mutations.ts";
import { findPermission, permissionNotFound } from "../findPermission.ts";
import type { PermissionsRepository } from "../permissionsRepository.ts";

/** Deletes a permission: at once nobody holds it any more, however many keys and roles name it (permissions §5). */
export const deletePermission =
  ({
    permissions,
  }: {
    readonly permissions: PermissionsRepository;
  }): Procedure<typeof DeletePermissionRequestSchema, typeof DeletePermissionResponseSchema> =>
  async ({ permission }, call) => {
    requirePermissions(call.caller, ["rbac.delete_permission", "*"]);
    const found = await findPermission(permissions, permission, call);
    const { _id, slug } = found;
    const event = auditEvent(auditSource(call), "permission.delete", `Deleted permission ${slug}`, resource("permission", _id, slug));
    return remove(call, { collection: "permissions", found, event, gone: () => permissionNotFound(permission) }, (events) =>
      permissions.delete(_id, call.receivedAt, events, call),
    );
  };
