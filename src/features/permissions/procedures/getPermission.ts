import type { GetPermissionRequestSchema, GetPermissionResponseSchema } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { Procedure } from "../../calls/call.ts";
import { findPermission } from "../findPermission.ts";
import { showPermission } from "../permissionObject.ts";
import type { PermissionsRepository } from "../permissionsRepository.ts";

/** Reads a permission by id or slug (permissions §3). */
export const getPermission =
  ({
    permissions,
  }: {
    readonly permissions: PermissionsRepository;
  }): Procedure<typeof GetPermissionRequestSchema, typeof GetPermissionResponseSchema> =>
  async ({ permission }, call) => {
    requirePermissions(call.caller, ["rbac.read_permission", "*"]);
    const found = await findPermission(permissions, permission, call);
    call.showRevision(found);
    return { data: showPermission(found) };
  };
