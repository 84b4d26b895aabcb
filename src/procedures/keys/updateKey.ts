import type { UpdateKeyRequest, UpdateKeyRequestSchema, UpdateKeyResponseSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { invalidInput, type ServiceError } from "../../domain/errors.ts";
import type { Update } from "../../storage/collection.ts";
import type { AuditEvent, KeyDocument } from "../../storage/documents.ts";
import type { IdentitiesRepository } from "../../storage/identities.ts";
import { balanceOf, type KeyChange } from "../../storage/keys.ts";
import type { PermissionsRepository } from "../../storage/permissions.ts";
import type { RolesRepository } from "../../storage/roles.ts";
import type { CreditSpender } from "../../verification/creditSpender.ts";
import { refillChange, withDueRefills } from "../../verification/refillCredits.ts";
import { auditSource } from "../auditSource.ts";
import type { Call, Procedure } from "../call.ts";
import { createMissingPermissions, resolvePermissions } from "../permissions/resolvePermissions.ts";
import { type FindKeyDeps, findKey, keyNotFound } from "./findKey.ts";
import { findRoles } from "./findRoles.ts";
import { linkIdentity, permissionEvents, roleEvents, storeMeta, storeRatelimits, storeRefill } from "./keyConfiguration.ts";

export interface UpdateKeyDeps extends FindKeyDeps {
  readonly credits: CreditSpender;
  readonly identities: IdentitiesRepository;
  readonly permissions: PermissionsRepository;
  readonly roles: RolesRepository;
}

/** What an update sets and removes; a field is in one of the two, the last word counts. */
interface Changes {
  readonly set: <K extends keyof KeyDocument>(field: K, value: NonNullable<KeyDocument[K]>) => void;
  readonly unset: (...fields: (keyof KeyDocument)[]) => void;
  readonly update: () => Update<KeyDocument>;
}

const createChanges = (): Changes => {
  const $set = new Map<string, unknown>();
  const $unset = new Map<string, "">();
  return {
    set: (field, value) => {
      $unset.delete(field);
      $set.set(field, value);
    },
    unset: (...fields) => {
      for (const field of fields) {
        $set.delete(field);
        $unset.set(field, "");
      }
    },
    update: () => ({ $set: Object.fromEntries($set), ...($unset.size > 0 ? { $unset: Object.fromEntries($unset) } : {}) }),
  };
};

const refillNeedsBalance = (): ServiceError =>
  invalidInput("A refill cannot be configured for a key with unlimited credits.", [
    {
      location: "body.credits.refill",
      message: "a refill needs a finite balance",
      fix: "Set credits.remaining to a number in the same call.",
    },
  ]);

/** Omitted keeps, null removes, a value replaces: the rows of keys §3 for `credits`. */
const changeCredits = (credits: UpdateKeyRequest["credits"], key: KeyDocument, changes: Changes, now: number): void => {
  if (credits?.kind.case === "null") changes.unset("remaining", "refill", "refilledAt");
  if (credits?.kind.case !== "value") return;
  const { remaining, refill } = credits.kind.value;
  if (remaining?.kind.case === "null") changes.unset("remaining", "refill", "refilledAt");
  if (remaining?.kind.case === "value") {
    changes.set("remaining", Number(remaining.kind.value));
    // The new balance discards what was due before it.
    if (key.refilledAt !== undefined) changes.set("refilledAt", withDueRefills(key, now).refilledAt ?? now);
  }
  if (refill?.kind.case === "null") changes.unset("refill", "refilledAt");
  if (refill?.kind.case === "value") {
    const finite = remaining === undefined ? key.remaining !== undefined : remaining.kind.case === "value";
    if (!finite) throw refillNeedsBalance();
    changes.set("refill", storeRefill(refill.kind.value));
    // A new refill waits for the next scheduled instant after it was configured (keys §1.9).
    changes.set("refilledAt", now);
  }
};

/** What is due under the old schedule is brought in before the schedule changes, unless a new balance discards it. */
const dueBefore = (credits: UpdateKeyRequest["credits"], key: KeyDocument, now: number): KeyChange | undefined => {
  if (credits?.kind.case !== "value") return undefined;
  const { remaining, refill } = credits.kind.value;
  return remaining === undefined && refill !== undefined ? refillChange(key, now) : undefined;
};

/** The fields that need nothing but the request and the key. */
const changeFields = (request: UpdateKeyRequest, key: KeyDocument, changes: Changes, now: number): void => {
  const { name, meta, expires, credits, ratelimits, enabled } = request;
  if (name?.kind.case === "null") changes.unset("name");
  if (name?.kind.case === "value") changes.set("name", name.kind.value);
  if (meta?.kind.case === "null") changes.unset("meta");
  if (meta?.kind.case === "value") changes.set("meta", storeMeta(meta.kind.value));
  if (expires !== undefined) changes.unset("expires", "expiresInclusive");
  if (expires?.kind.case === "value") changes.set("expires", Number(expires.kind.value));
  changeCredits(credits, key, changes, now);
  if (ratelimits?.kind.case === "null") changes.set("ratelimits", []);
  if (ratelimits?.kind.case === "value") changes.set("ratelimits", storeRatelimits(ratelimits.kind.value.values, key.ratelimits, now));
  if (enabled !== undefined) changes.set("enabled", enabled);
};

/** Finds the roles, permissions and the identity that the request names, making what may be made. */
const resolveReferences = async ({ identities, permissions, roles }: UpdateKeyDeps, request: UpdateKeyRequest, call: Call) => {
  // Roles first: one that does not exist fails the call before anything is made.
  const newRoles = request.roles && (await findRoles(roles, request.roles.values, call));
  const newPermissions =
    request.permissions &&
    (await createMissingPermissions(permissions, await resolvePermissions(permissions, request.permissions.values, call), call));
  const externalId = request.externalId?.kind;
  const identity = externalId?.case === "value" ? await linkIdentity(identities, externalId.value, call) : undefined;
  return { newRoles, newPermissions, identity };
};

/** Partial update of a key, all or nothing (keys §3). */
export const updateKey =
  (deps: UpdateKeyDeps): Procedure<typeof UpdateKeyRequestSchema, typeof UpdateKeyResponseSchema> =>
  async (request, call) => {
    const found = await findKey(deps, request.keyId, call);
    requirePermissions(call.caller, ["api.update_key", found.apiId]);
    // Judged here as well as below, so that a refused call makes no permission and no identity.
    changeFields(request, found, createChanges(), call.receivedAt);
    const { newRoles, newPermissions, identity } = await resolveReferences(deps, request, call);

    const source = auditSource(call);
    const decide = (key: KeyDocument): KeyChange => {
      const changes = createChanges();
      const due = dueBefore(request.credits, key, call.receivedAt);
      if (due?.update.$set?.remaining !== undefined) changes.set("remaining", due.update.$set.remaining);
      changes.set("updatedAt", call.receivedAt);
      changeFields(request, key, changes, call.receivedAt);
      if (request.externalId?.kind.case === "null") changes.unset("identityId");
      if (identity) changes.set("identityId", identity._id);

      const target = resource("key", key._id, key.name);
      const events: AuditEvent[] = [...(due?.events ?? []), auditEvent(source, "key.update", `Updated key ${key._id}`, target)];
      if (newPermissions) {
        const ids = newPermissions.map((permission) => permission._id);
        changes.set("permissionIds", ids);
        const removed = key.permissionIds.filter((id) => !ids.includes(id));
        events.push(
          ...permissionEvents(
            source,
            "disconnect",
            target,
            removed.map((id) => ({ _id: id, slug: id })),
          ),
          ...permissionEvents(
            source,
            "connect",
            target,
            newPermissions.filter(({ _id }) => !key.permissionIds.includes(_id)),
          ),
        );
      }
      if (newRoles) {
        const ids = newRoles.map((role) => role._id);
        changes.set("roleIds", ids);
        const removed = key.roleIds.filter((id) => !ids.includes(id));
        events.push(
          ...roleEvents(
            source,
            "disconnect",
            target,
            removed.map((id) => ({ _id: id, name: id })),
          ),
          ...roleEvents(
            source,
            "connect",
            target,
            newRoles.filter(({ _id }) => !key.roleIds.includes(_id)),
          ),
        );
      }
      return { update: changes.update(), events, ...(request.credits === undefined ? {} : { guard: balanceOf(key) }) };
    };
    const modify = () => deps.keys.modify(request.keyId, decide, call);
    const changed = await (request.credits === undefined ? modify() : deps.credits.between(request.keyId, modify));
    if (changed === null) throw keyNotFound(request.keyId);
    return { data: {} };
  };
