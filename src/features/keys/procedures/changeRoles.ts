import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RoleSchema } from "../../../../gen/latchkey/v2/common_pb.ts";
import type { AddRolesRequest, RemoveRolesRequest, SetRolesRequest } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { KeyDocument } from "../../../platform/storage/port/documents.ts";
import { resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Call } from "../../calls/call.ts";
import { change } from "../../calls/mutations.ts";
import { showRoles } from "../../permissions/permissionObject.ts";
import type { PermissionsRepository } from "../../permissions/permissionsRepository.ts";
import type { RolesRepository } from "../../permissions/rolesRepository.ts";
import type { KeyModification } from "../keysRepository.ts";
import { type Assignment, assign } from "./shared/assignments.ts";
import { findKey, keyNotFound, type ModifyKeyDeps } from "./shared/findKey.ts";
import { findRoles } from "./shared/findRoles.ts";
import { applyList, itemsOf, type ListEffect } from "./shared/listEffect.ts";

export interface ChangeRolesDeps extends ModifyKeyDeps {
  readonly permissions: Pick<PermissionsRepository, "findMany">;
  readonly roles: Pick<RolesRepository, "findMany" | "findManyByName">;
}

type Request = AddRolesRequest | RemoveRolesRequest | SetRolesRequest;

/**
 * keys.addRoles, removeRoles and setRoles: answers with the roles of the key after the call. Only adding asks for an rbac permission
 * (permissions §11).
 */
export const changeRoles =
  (deps: ChangeRolesDeps, effect: ListEffect) =>
  async ({ keyId, roles: list }: Request, call: Call): Promise<{ readonly data: MessageInitShape<typeof RoleSchema>[] }> => {
    const { keys, roles, permissions } = deps;
    const found = await findKey(deps, keyId, call);
    const alsoNeeded = effect === "add" ? [["rbac.add_role_to_key", "*"] as const] : [];
    requirePermissions(call.caller, ["api.update_key", found.apiId], ...alsoNeeded);
    const listed = await findRoles(roles, itemsOf(list), call);

    const prepare = () => assign(roles, listed, effect === "set" ? found.roleIds : [], call);
    const decide = (key: KeyDocument, { ids, eventsOf }: Assignment): KeyModification | undefined => {
      const roleIds = applyList(effect, key.roleIds, ids);
      const events = eventsOf(auditSource(call), resource("key", keyId, key.name), key.roleIds, roleIds);
      return events.length === 0 ? undefined : { update: { $set: { roleIds } }, events };
    };
    const answer = async ({ roleIds }: KeyDocument) => ({
      data: await showRoles(permissions, roleIds.length === 0 ? [] : await roles.findMany(roleIds, call), call),
    });
    const gone = () => keyNotFound(keyId);
    return change(call, { collection: "keys", modify: keys.modify, found, gone, prepare, answer }, decide);
  };
