import { ListRolesRequestSchema, type ListRolesResponseSchema } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { Procedure } from "../../calls/call.ts";
import { readPageRequest, showPagination } from "../../calls/paging.ts";
import { showRolesInOrder } from "../permissionObject.ts";
import type { CreateRoleDeps } from "./createRole.ts";

/** Lists roles with their permissions, ascending by id (permissions §8). */
export const listRoles =
  ({ roles, permissions }: CreateRoleDeps): Procedure<typeof ListRolesRequestSchema, typeof ListRolesResponseSchema> =>
  async (request, call) => {
    requirePermissions(call.caller, ["rbac.read_role", "*"]);
    const page = await roles.list(readPageRequest(ListRolesRequestSchema, request), call);
    return { data: await showRolesInOrder(permissions, page.items, call), pagination: showPagination(page) };
  };
