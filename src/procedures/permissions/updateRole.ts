import type { UpdateRoleRequestSchema, UpdateRoleResponseSchema } from "../../../gen/latchkey/v2/permissions_pb.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { ServiceError } from "../../domain/errors.ts";
import type { RoleDocument } from "../../storage/port/documents.ts";
import { DuplicateKeyError } from "../../storage/port/errors.ts";
import { nameKey, type RolesRepository, roleSearch } from "../../storage/repositories/rolesRepository.ts";
import type { Modification } from "../../storage/repositories/shared/modify.ts";
import { auditSource } from "../shared/auditSource.ts";
import type { Procedure } from "../shared/call.ts";
import { changedDescription } from "../shared/permissions/changedDescription.ts";
import { findRole, roleNotFound } from "../shared/permissions/findPermission.ts";

/** Changes a role's name and description; neither its permissions nor its keys (permissions §10a). */
export const updateRole =
  ({ roles }: { readonly roles: RolesRepository }): Procedure<typeof UpdateRoleRequestSchema, typeof UpdateRoleResponseSchema> =>
  async (request, call) => {
    requirePermissions(call.caller, ["rbac.update_role", "*"]);
    const found = await findRole(roles, request.role, call);
    let after: { readonly name: string; readonly description?: string } = found;
    const decide = (current: RoleDocument): Modification<RoleDocument> | undefined => {
      const { name = current.name } = request;
      const description = changedDescription(request.description, current.description);
      after = { name, ...(description === undefined ? {} : { description }) };
      if (name === current.name && description === current.description) return undefined;
      const $set = { name, nameKey: nameKey(name), search: roleSearch({ id: current._id, ...after }), updatedAt: call.receivedAt };
      const event = auditEvent(auditSource(call), "role.update", `Updated role ${name}`, resource("role", current._id, name));
      const update = description === undefined ? { $set, $unset: { description: "" } as const } : { $set: { ...$set, description } };
      return { update, events: call.mark([event]) };
    };
    const answer = () => ({ data: { id: found._id, ...after } });
    decide(found);
    await call.begin({ collection: "roles", id: found._id }, answer(), found);
    try {
      if ((await roles.modify(found._id, decide, call)) === null) throw roleNotFound(request.role);
    } catch (error) {
      if (!(error instanceof DuplicateKeyError)) throw error;
      throw new ServiceError("role_already_exists", `A role with the name ${request.name} already exists.`, { cause: error });
    }
    return answer();
  };
