import type { CreatePermissionRequestSchema, CreatePermissionResponseSchema } from "../../../gen/latchkey/v2/permissions_pb.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { ServiceError } from "../../domain/errors.ts";
import { DuplicateKeyError } from "../../storage/port/errors.ts";
import type { PermissionsRepository } from "../../storage/repositories/permissionsRepository.ts";
import { auditSource } from "../shared/auditSource.ts";
import type { Procedure } from "../shared/call.ts";

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
    const answer = { data: { permissionId: id } };
    await call.begin({ collection: "permissions", id }, answer);
    const event = auditEvent(auditSource(call), "permission.create", `Created permission ${slug}`, resource("permission", id, slug));
    try {
      await permissions.insert({ id, name, slug, ...(description ? { description } : {}) }, call.receivedAt, call.mark([event]), call);
    } catch (error) {
      if (!(error instanceof DuplicateKeyError)) throw error;
      throw new ServiceError("permission_already_exists", `A permission with the slug ${slug} already exists.`, { cause: error });
    }
    return answer;
  };
