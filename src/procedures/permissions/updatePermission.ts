import type { UpdatePermissionRequestSchema, UpdatePermissionResponseSchema } from "../../../gen/latchkey/v2/permissions_pb.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { ServiceError } from "../../domain/errors.ts";
import type { PermissionDocument } from "../../storage/port/documents.ts";
import { DuplicateKeyError } from "../../storage/port/errors.ts";
import { type PermissionsRepository, permissionSearch, slugKey } from "../../storage/repositories/permissionsRepository.ts";
import type { Modification } from "../../storage/repositories/shared/modify.ts";
import { auditSource } from "../shared/auditSource.ts";
import type { Procedure } from "../shared/call.ts";
import { changedDescription } from "../shared/permissions/changedDescription.ts";
import { findPermission, permissionNotFound } from "../shared/permissions/findPermission.ts";
import { showPermission } from "../shared/permissions/permissionObject.ts";

/** Changes a permission; keys and roles that hold it keep it under its new slug (permissions §10a). */
export const updatePermission =
  ({
    permissions,
  }: {
    readonly permissions: PermissionsRepository;
  }): Procedure<typeof UpdatePermissionRequestSchema, typeof UpdatePermissionResponseSchema> =>
  async (request, call) => {
    requirePermissions(call.caller, ["rbac.update_permission", "*"]);
    const found = await findPermission(permissions, request.permission, call);
    let after: PermissionDocument = found;
    const decide = (current: PermissionDocument): Modification<PermissionDocument> | undefined => {
      const { description: _, ...rest } = current;
      const description = changedDescription(request.description, current.description);
      const { name = current.name, slug = current.slug } = request;
      after = { ...rest, name, slug, slugKey: slugKey(slug), ...(description === undefined ? {} : { description }) };
      if (name === current.name && slug === current.slug && description === current.description) return undefined;
      const search = permissionSearch({ id: current._id, name, slug, ...(description === undefined ? {} : { description }) });
      const $set = { name, slug, slugKey: slugKey(slug), search, updatedAt: call.receivedAt };
      const event = auditEvent(
        auditSource(call),
        "permission.update",
        `Updated permission ${slug}`,
        resource("permission", current._id, slug),
      );
      const update = description === undefined ? { $set, $unset: { description: "" } as const } : { $set: { ...$set, description } };
      return { update, events: call.mark([event]) };
    };
    const answer = () => ({ data: showPermission(after) });
    decide(found);
    await call.begin({ collection: "permissions", id: found._id }, answer(), found);
    try {
      if ((await permissions.modify(found._id, decide, call)) === null) throw permissionNotFound(request.permission);
    } catch (error) {
      if (!(error instanceof DuplicateKeyError)) throw error;
      throw new ServiceError("permission_already_exists", `A permission with the slug ${request.slug} already exists.`, { cause: error });
    }
    return answer();
  };
