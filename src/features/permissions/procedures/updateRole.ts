import type { UpdateRoleRequestSchema, UpdateRoleResponseSchema } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { RoleDocument } from "../../../platform/storage/port/documents.ts";
import type { Modification } from "../../../platform/storage/repositories/shared/modify.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { change } from "../../calls/mutations.ts";
import { changedDescription } from "../changedDescription.ts";
import { findRole, roleExists, roleNotFound } from "../findPermission.ts";
import { nameKey, type RolesRepository, roleSearch } from "../rolesRepository.ts";

/** Changes a role's name and description; neither its permissions nor its keys (permissions §10a). */
export const updateRole =
  ({ roles }: { readonly roles: RolesRepository }): Procedure<typeof UpdateRoleRequestSchema, typeof UpdateRoleResponseSchema> =>
  async (request, call) => {
    requirePermissions(call.caller, ["rbac.update_role", "*"]);
    const found = await findRole(roles, request.role, call);
    const decide = (current: RoleDocument): Modification<RoleDocument> | undefined => {
      const { name = current.name } = request;
      const description = changedDescription(request.description, current.description);
      if (name === current.name && description === current.description) return undefined;
      const $set = {
        name,
        nameKey: nameKey(name),
        search: roleSearch({ id: current._id, name, ...(description === undefined ? {} : { description }) }),
        updatedAt: call.receivedAt,
      };
      const event = auditEvent(auditSource(call), "role.update", `Updated role ${name}`, resource("role", current._id, name));
      const update = description === undefined ? { $set, $unset: { description: "" } as const } : { $set: { ...$set, description } };
      return { update, events: [event] };
    };
    const { modify } = roles;
    const gone = () => roleNotFound(request.role);
    const taken = () => roleExists(request.name ?? found.name);
    const answer = ({ _id: id, name, description }: RoleDocument) => ({
      data: { id, name, ...(description === undefined ? {} : { description }) },
    });
    return change(call, { collection: "roles", modify, found, gone, taken, answer, renames: true }, decide);
  };
