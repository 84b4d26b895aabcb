import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PermissionSchema } from "../../../../gen/latchkey/v2/common_pb.ts";
import type { AddPermissionsRequest, RemovePermissionsRequest, SetPermissionsRequest } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { type Action, requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { KeyDocument } from "../../../platform/storage/port/documents.ts";
import { resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Call } from "../../calls/call.ts";
import { change } from "../../calls/mutations.ts";
import { permissionNotFound } from "../../permissions/findPermission.ts";
import { showPermissions } from "../../permissions/permissionObject.ts";
import { createMissingPermissions, type GrantablePermissions, resolvePermissions } from "../../permissions/resolvePermissions.ts";
import type { KeyModification } from "../keysRepository.ts";
import { type Assignment, assign } from "./shared/assignments.ts";
import { findKey, keyNotFound, type ModifyKeyDeps } from "./shared/findKey.ts";
import { applyList, itemsOf, type ListEffect } from "./shared/listEffect.ts";

export interface ChangePermissionsDeps extends ModifyKeyDeps {
  readonly permissions: GrantablePermissions;
}

const needed: Readonly<Record<ListEffect, readonly Action[]>> = {
  add: ["rbac.add_permission_to_key"],
  remove: ["rbac.remove_permission_from_key"],
  set: ["rbac.add_permission_to_key", "rbac.remove_permission_from_key"],
};

type Request = AddPermissionsRequest | RemovePermissionsRequest | SetPermissionsRequest;

/**
 * keys.addPermissions, removePermissions and setPermissions: answers with the direct permissions of the key after the call. Those that
 * are listed and do not exist are created (permissions §11).
 */
export const changePermissions =
  (deps: ChangePermissionsDeps, effect: ListEffect) =>
  async ({ keyId, permissions: list }: Request, call: Call): Promise<{ readonly data: MessageInitShape<typeof PermissionSchema>[] }> => {
    const { keys, permissions } = deps;
    const found = await findKey(deps, keyId, call);
    const alsoNeeded = needed[effect].map((action): readonly [Action, string] => [action, "*"]);
    requirePermissions(call.caller, ["api.update_key", found.apiId], ...alsoNeeded);
    const resolved = await resolvePermissions(permissions, itemsOf(list), call);
    const [missing] = resolved.missing;
    if (missing !== undefined) {
      if (effect === "remove") throw permissionNotFound(missing);
      requirePermissions(call.caller, ["rbac.create_permission", "*"]);
    }

    const prepare = async (): Promise<Assignment> => {
      const listed = await createMissingPermissions(permissions, resolved, call);
      return assign(permissions, listed, effect === "set" ? found.permissionIds : [], call);
    };
    const decide = (key: KeyDocument, { ids, eventsOf }: Assignment): KeyModification | undefined => {
      const permissionIds = applyList(effect, key.permissionIds, ids);
      const events = eventsOf(auditSource(call), resource("key", keyId, key.name), key.permissionIds, permissionIds);
      return events.length === 0 ? undefined : { update: { $set: { permissionIds } }, events };
    };
    const answer = async ({ permissionIds }: KeyDocument) => ({
      data: showPermissions(permissionIds.length === 0 ? [] : await permissions.findMany(permissionIds, call)),
    });
    const gone = () => keyNotFound(keyId);
    return change(call, { collection: "keys", modify: keys.modify, found, gone, prepare, answer }, decide);
  };
