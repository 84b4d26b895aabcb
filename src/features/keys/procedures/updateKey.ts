import type { UpdateKeyRequestSchema, UpdateKeyResponseSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { AuditEvent } from "../../../platform/storage/port/auditEvents.ts";
import type { KeyDocument } from "../../../platform/storage/port/documents.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { change } from "../../calls/mutations.ts";
import type { IdentitiesRepository } from "../../identities/identitiesRepository.ts";
import { linkIdentity } from "../../identities/linkIdentity.ts";
import { createMissingPermissions, type GrantablePermissions, resolvePermissions } from "../../permissions/resolvePermissions.ts";
import type { RolesRepository } from "../../permissions/rolesRepository.ts";
import type { KeyModification } from "../keysRepository.ts";
import { withDueRefills } from "../refillCredits.ts";
import { assign } from "./shared/assignments.ts";
import { findKey, keyNotFound, type ModifyCreditsDeps, modifyAlone } from "./shared/findKey.ts";
import { findRoles } from "./shared/findRoles.ts";
import { changeFields, createChanges, dueBefore } from "./shared/keyFields.ts";

export interface UpdateKeyDeps extends ModifyCreditsDeps {
  readonly identities: Pick<IdentitiesRepository, "findOrCreate">;
  readonly permissions: GrantablePermissions;
  readonly roles: Pick<RolesRepository, "findMany" | "findManyByName">;
}

/** Partial update of a key, all or nothing (keys §3). */
export const updateKey =
  (deps: UpdateKeyDeps): Procedure<typeof UpdateKeyRequestSchema, typeof UpdateKeyResponseSchema> =>
  async (request, call) => {
    const found = await findKey(deps, request.keyId, call);
    requirePermissions(call.caller, ["api.update_key", found.apiId]);
    // Judged here as well as below, so that a refused call makes no permission and no identity.
    changeFields(request, found, createChanges(), call.receivedAt);
    const externalId = request.externalId?.kind;
    const prepare = async () => {
      const { roles, permissions } = request;
      // Roles first: one that does not exist fails the call before anything is made.
      const listedRoles = roles && (await findRoles(deps.roles, roles.values, call));
      const resolved = permissions && (await resolvePermissions(deps.permissions, permissions.values, call));
      const listed = resolved && (await createMissingPermissions(deps.permissions, resolved, call));
      return {
        roles: listedRoles && (await assign(deps.roles, listedRoles, found.roleIds, call)),
        permissions: listed && (await assign(deps.permissions, listed, found.permissionIds, call)),
        identity: externalId?.case === "value" ? await linkIdentity(deps.identities, externalId.value, call) : undefined,
      };
    };

    const source = auditSource(call);
    const decide = (key: KeyDocument, { roles, permissions, identity }: Awaited<ReturnType<typeof prepare>>): KeyModification => {
      const changes = createChanges();
      const due = dueBefore(request.credits, key, call.receivedAt);
      if (due?.update.$set?.remaining !== undefined) changes.set("remaining", due.update.$set.remaining);
      // Calls may overtake one another, and nodes' clocks differ.
      changes.set("updatedAt", Math.max(key.updatedAt ?? 0, call.receivedAt));
      changeFields(request, key, changes, call.receivedAt);
      if (externalId?.case === "null") changes.unset("identityId");
      if (identity) changes.set("identityId", identity._id);

      const target = resource("key", key._id, key.name);
      const events: AuditEvent[] = [...(due?.events ?? []), auditEvent(source, "key.update", `Updated key ${key._id}`, target)];
      if (permissions) {
        changes.set("permissionIds", permissions.ids);
        events.push(...permissions.eventsOf(source, target, key.permissionIds, permissions.ids));
      }
      if (roles) {
        changes.set("roleIds", roles.ids);
        events.push(...roles.eventsOf(source, target, key.roleIds, roles.ids));
      }
      // Only a refill that is brought in depends on the balance: a new one takes the place of any.
      const modification = { update: changes.update(), events };
      if (due === undefined) return modification;
      // What is due has an event of its own.
      return { ...modification, from: withDueRefills(key, call.receivedAt), ...(due.guard === undefined ? {} : { guard: due.guard }) };
    };
    const modify = request.credits === undefined ? deps.keys.modify : modifyAlone(deps);
    const gone = () => keyNotFound(request.keyId);
    return change(call, { collection: "keys", modify, found, gone, prepare, answer: { data: {} } }, decide);
  };
