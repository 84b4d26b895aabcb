import type { GetRoleRequestSchema, GetRoleResponseSchema } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { Procedure } from "../../calls/call.ts";
import { findRole } from "../findPermission.ts";
import { showRole } from "../permissionObject.ts";
import type { CreateRoleDeps } from "./createRole.ts";

/** Reads a role by id or name, with its permissions (permissions §7). */
export const getRole =
  ({ roles, permissions }: CreateRoleDeps): Procedure<typeof GetRoleRequestSchema, typeof GetRoleResponseSchema> =>
  async ({ role }, call) => {
    requirePermissions(call.caller, ["rbac.read_role", "*"]);
    const found = await findRole(roles, role, call);
    const data = await showRole(permissions, found, call);
    call.showRevision(found);
    return { data };
  };
