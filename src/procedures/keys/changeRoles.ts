import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RoleSchema } from "../../../gen/latchkey/v2/common_pb.ts";
import { resource } from "../../audit/auditEvent.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import type { KeyChange } from "../../storage/keys.ts";
import type { PermissionsRepository } from "../../storage/permissions.ts";
import type { RolesRepository } from "../../storage/roles.ts";
import { auditSource } from "../auditSource.ts";
import type { Call } from "../call.ts";
import { showRoles } from "../permissions/permissionObject.ts";
import { applyList, type ListEffect } from "./changePermissions.ts";
import { type FindKeyDeps, findKey, keyNotFound } from "./findKey.ts";
import { findRoles } from "./findRoles.ts";
import { roleEvents } from "./keyConfiguration.ts";

export interface ChangeRolesDeps extends FindKeyDeps {
  readonly permissions: PermissionsRepository;
  readonly roles: RolesRepository;
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
): Promise<MessageInitShape<typeof RoleSchema>[]> => {
  const found = await findKey(deps, keyId, call);
  requirePermissions(call.caller, ["api.update_key", found.apiId], ...(effect === "add" ? [["rbac.add_role_to_key", "*"] as const] : []));
  const listed = await findRoles(deps.roles, names, call);
  const listedIds = listed.map((role) => role._id);

  let heldIds: readonly string[] = found.roleIds;
  const source = auditSource(call);
  const changed = await deps.keys.modify(
    keyId,
    (key): KeyChange | undefined => {
      heldIds = applyList(effect, key.roleIds, listedIds);
      const target = resource("key", keyId, key.name);
      const removed = key.roleIds.filter((id) => !heldIds.includes(id));
      const added = listed.filter(({ _id }) => heldIds.includes(_id) && !key.roleIds.includes(_id));
      if (removed.length === 0 && added.length === 0) return undefined;
      const known = new Map(listed.map((each) => [each._id, each]));
      const events = [
        ...roleEvents(
          source,
          "disconnect",
          target,
          removed.map((id) => known.get(id) ?? { _id: id, name: id }),
        ),
        ...roleEvents(source, "connect", target, added),
      ];
      return { update: { $set: { roleIds: heldIds } }, events };
    },
    call,
  );
  if (changed === null) throw keyNotFound(keyId);
  return showRoles(deps.permissions, heldIds.length === 0 ? [] : await deps.roles.findMany(heldIds, call), call);
};
