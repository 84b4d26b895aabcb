import type { UpdatePermissionRequestSchema, UpdatePermissionResponseSchema } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { PermissionDocument } from "../../../platform/storage/port/documents.ts";
import type { Modification } from "../../../platform/storage/repositories/shared/modify.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { change } from "../../calls/mutations.ts";
import { changedDescription } from "../changedDescription.ts";
import { findPermission, permissionExists, permissionNotFound } from "../findPermission.ts";
import { showPermission } from "../permissionObject.ts";
import { type PermissionsRepository, permissionSearch, slugKey } from "../permissionsRepository.ts";

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
    const decide = (current: PermissionDocument): Modification<PermissionDocument> | undefined => {
      const description = changedDescription(request.description, current.description);
      const { name = current.name, slug = current.slug } = request;
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
      return { update, events: [event] };
    };
    const { modify } = permissions;
    const gone = () => permissionNotFound(request.permission);
    const taken = () => permissionExists(request.slug ?? found.slug);
    const answer = (after: PermissionDocument) => ({ data: showPermission(after) });
    return change(call, { collection: "permissions", modify, found, gone, taken, answer, renames: true }, decide);
  };
