import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RoleSchema } from "../../../../gen/latchkey/v2/common_pb.ts";
import { resource } from "../../../audit/auditEvent.ts";
import { requirePermissions } from "../../../domain/authorization.ts";
import type { KeyDocument } from "../../../storage/port/documents.ts";
import type { KeyModification } from "../../../storage/repositories/keysRepository.ts";
import type { PermissionsRepository } from "../../../storage/repositories/permissionsRepository.ts";
import type { RolesRepository } from "../../../storage/repositories/rolesRepository.ts";
import { auditSource } from "../auditSource.ts";
import type { Call } from "../call.ts";
import { change } from "../mutations.ts";
import { showRoles } from "../permissions/permissionObject.ts";
import { roleAssignment } from "./assignments.ts";
import { applyList, type ListEffect } from "./changePermissions.ts";
import { findKey, keyNotFound, type ModifyKeyDeps } from "./findKey.ts";
import { findRoles } from "./findRoles.ts";

export interface ChangeRolesDeps extends ModifyKeyDeps {
  readonly permissions: Pick<PermissionsRepository, "findMany">;
  readonly roles: Pick<RolesRepository, "findMany" | "findManyByName">;
}

/**
 * keys.addRoles, removeRoles and setRoles: the complete roles after the call. Only adding asks for an rbac permission
 * (permissions §11).
 */
export const changeRoles = async (
  deps: ChangeRolesDeps,
  effect: ListEffect,
  { keyId, names }: { readonly keyId: string; readonly names: readonly string[] },
  call: Call,
): Promise<{ readonly data: MessageInitShape<typeof RoleSchema>[] }> => {
  const found = await findKey(deps, keyId, call);
  requirePermissions(call.caller, ["api.update_key", found.apiId], ...(effect === "add" ? [["rbac.add_role_to_key", "*"] as const] : []));
  const listed = await findRoles(deps.roles, names, call);
  const listedIds = listed.map((role) => role._id);

  const eventsOf = await roleAssignment(deps.roles, { listed, held: effect === "set" ? found.roleIds : [] }, call);

  const source = auditSource(call);
  const decide = (key: KeyDocument): KeyModification | undefined => {
    const heldIds = applyList(effect, key.roleIds, listedIds);
    const events = eventsOf(source, resource("key", keyId, key.name), key.roleIds, heldIds);
    if (events.length === 0) return undefined;
    return { update: { $set: { roleIds: heldIds } }, events };
  };
  const answer = async ({ roleIds }: KeyDocument) => ({
    data: await showRoles(deps.permissions, roleIds.length === 0 ? [] : await deps.roles.findMany(roleIds, call), call),
  });
  const { modify } = deps.keys;
  return change(call, { collection: "keys", modify, found, gone: () => keyNotFound(keyId), answer }, decide);
};
