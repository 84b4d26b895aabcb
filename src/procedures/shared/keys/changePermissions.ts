import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PermissionSchema } from "../../../../gen/latchkey/v2/common_pb.ts";
import { resource } from "../../../audit/auditEvent.ts";
import { type Action, requirePermissions } from "../../../domain/authorization.ts";
import { ServiceError } from "../../../domain/errors.ts";
import type { KeyDocument } from "../../../storage/port/documents.ts";
import type { KeyModification } from "../../../storage/repositories/keysRepository.ts";
import { auditSource } from "../auditSource.ts";
import type { Call } from "../call.ts";
import { change } from "../mutations.ts";
import { showPermissions } from "../permissions/permissionObject.ts";
import { createMissingPermissions, type GrantablePermissions, resolvePermissions } from "../permissions/resolvePermissions.ts";
import { permissionAssignment } from "./assignments.ts";
import { findKey, keyNotFound, type ModifyKeyDeps } from "./findKey.ts";

export interface ChangePermissionsDeps extends ModifyKeyDeps {
  readonly permissions: GrantablePermissions;
}

/** What a list of permissions does to the direct permissions that a key holds (permissions §11). */
export type ListEffect = "add" | "remove" | "set";

/** The ids that are held afterwards, in stable order. */
export const applyList = (effect: ListEffect, held: readonly string[], listed: readonly string[]): readonly string[] => {
  if (effect === "remove") return held.filter((id) => !listed.includes(id));
  return [...new Set(effect === "add" ? [...held, ...listed] : listed)];
};

const needed: Readonly<Record<ListEffect, readonly Action[]>> = {
  add: ["rbac.add_permission_to_key"],
  remove: ["rbac.remove_permission_from_key"],
  set: ["rbac.add_permission_to_key", "rbac.remove_permission_from_key"],
};

/** keys.addPermissions, removePermissions and setPermissions: the complete direct permissions after the call. */
export const changePermissions = async (
  deps: ChangePermissionsDeps,
  effect: ListEffect,
  { keyId, items }: { readonly keyId: string; readonly items: readonly string[] },
  call: Call,
): Promise<{ readonly data: MessageInitShape<typeof PermissionSchema>[] }> => {
  const found = await findKey(deps, keyId, call);
  requirePermissions(
    call.caller,
    ["api.update_key", found.apiId],
    ...needed[effect].map((action): readonly [Action, string] => [action, "*"]),
  );
  const resolved = await resolvePermissions(deps.permissions, items, call);
  const [missing] = resolved.missing;
  if (missing !== undefined) {
    if (effect === "remove") throw new ServiceError("permission_not_found", `The permission ${missing} does not exist.`);
    requirePermissions(call.caller, ["rbac.create_permission", "*"]);
  }
  const prepare = async () => {
    const listed = await createMissingPermissions(deps.permissions, resolved, call);
    const assignment = { listed, held: effect === "set" ? found.permissionIds : [] };
    return {
      listedIds: listed.map((permission) => permission._id),
      eventsOf: await permissionAssignment(deps.permissions, assignment, call),
    };
  };

  const source = auditSource(call);
  const decide = (key: KeyDocument, { listedIds, eventsOf }: Awaited<ReturnType<typeof prepare>>): KeyModification | undefined => {
    const heldIds = applyList(effect, key.permissionIds, listedIds);
    const events = eventsOf(source, resource("key", keyId, key.name), key.permissionIds, heldIds);
    if (events.length === 0) return undefined;
    return { update: { $set: { permissionIds: heldIds } }, events };
  };
  const answer = async ({ permissionIds }: KeyDocument) => ({
    data: showPermissions(permissionIds.length === 0 ? [] : await deps.permissions.findMany(permissionIds, call)),
  });
  const { modify } = deps.keys;
  return change(call, { collection: "keys", modify, found, gone: () => keyNotFound(keyId), prepare, answer }, decide);
};
