import type { DeleteRoleRequestSchema, DeleteRoleResponseSchema } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { remove } from "../../calls/mutations.ts";
import { findRole, roleNotFound } from "../findPermission.ts";
import type { RolesRepository } from "../rolesRepository.ts";

/** Deletes a role: at once no key has it any more; its permissions stay (permissions §9). */
export const deleteRole =
  ({ roles }: { readonly roles: RolesRepository }): Procedure<typeof DeleteRoleRequestSchema, typeof DeleteRoleResponseSchema> =>
  async ({ role }, call) => {
    requirePermissions(call.caller, ["rbac.delete_role", "*"]);
    const found = await findRole(roles, role, call);
    const { _id, name } = found;
    const event = auditEvent(auditSource(call), "role.delete", `Deleted role ${name}`, resource("role", _id, name));
    return remove(call, { collection: "roles", found, event, gone: () => roleNotFound(role) }, (events) =>
      roles.delete(_id, call.receivedAt, events, call),
    );
  };
