import { ListPermissionsRequestSchema, type ListPermissionsResponseSchema } from "../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import type { PermissionsRepository } from "../../storage/repositories/permissionsRepository.ts";
import type { Procedure } from "../shared/call.ts";
import { readPageRequest, showPagination } from "../shared/paging.ts";
import { showPermission } from "../shared/permissions/permissionObject.ts";

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
