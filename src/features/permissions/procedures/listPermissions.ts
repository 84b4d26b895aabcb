import { ListPermissionsRequestSchema, type ListPermissionsResponseSchema } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { Procedure } from "../../calls/call.ts";
import { readPageRequest, showPagination } from "../../calls/paging.ts";
import { showPermission } from "../permissionObject.ts";
import type { PermissionsRepository } from "../permissionsRepository.ts";

/** Lists permissions, ascending by id (permissions §4). */
export const listPermissions =
  ({
    permissions,
  }: {
    readonly permissions: PermissionsRepository;
  }): Procedure<typeof ListPermissionsRequestSchema, typeof ListPermissionsResponseSchema> =>
  async (request, call) => {
    requirePermissions(call.caller, ["rbac.read_permission", "*"]);
    const page = await permissions.list(readPageRequest(ListPermissionsRequestSchema, request), call);
    return { data: page.items.map(showPermission), pagination: showPagination(page) };
  };
