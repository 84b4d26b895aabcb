import pMap from "p-map";
import type { MigrateKey } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { createId } from "../../../../platform/base/ids.ts";
import type { AuditEvent } from "../../../../platform/storage/port/auditEvents.ts";
import type { PermissionDocument, RoleDocument } from "../../../../platform/storage/port/documents.ts";
import { DuplicateKeyError } from "../../../../platform/storage/port/errors.ts";
import { chunks } from "../../../../platform/util/chunks.ts";
import { auditEvent, resource } from "../../../audit/auditEvent.ts";
import { auditSource } from "../../../calls/auditSource.ts";
import type { Call } from "../../../calls/call.ts";
import type { IdentitiesRepository, NewIdentity } from "../../../identities/identitiesRepository.ts";
import { linkIdentity } from "../../../identities/linkIdentity.ts";
import { slugKey } from "../../../permissions/permissionsRepository.ts";
import { createMissingPermissions, type GrantablePermissions, resolvePermissions } from "../../../permissions/resolvePermissions.ts";
import { nameKey, type RolesRepository } from "../../../permissions/rolesRepository.ts";

/** Objects of one read or write of the store: it bounds the time that one may take. */
const CHUNK = 500;
/** Objects made one by one at a time: more would keep the store's connections from other calls. */
const PARALLEL = 16;

export interface ImportReferencesDeps {
  readonly identities: Pick<IdentitiesRepository, "findIdsByExternalId" | "insertMany" | "findOrCreate">;
  readonly permissions: GrantablePermissions;
  readonly roles: Pick<RolesRepository, "findManyByName" | "findOrCreate">;
}

/** What imported keys refer to, by the words of the request. */
export interface ImportReferences {
  readonly permission: (item: string) => PermissionDocument;
  readonly role: (name: string) => RoleDocument;
  readonly identityId: (externalId: string) => string;
}

const known = <T>(objects: ReadonlyMap<string, T>, key: string): T => {
  const object = objects.get(key);
  if (object === undefined) throw new Error(`a reference of an imported key was not resolved: ${key}`);
  return object;
};

/** By id and by slug. */
const importPermissions = async (
  { permissions }: ImportReferencesDeps,
  items: readonly string[],
  call: Call,
): Promise<Map<string, PermissionDocument>> => {
  const found = await createMissingPermissions(permissions, await resolvePermissions(permissions, items, call), call);
  return new Map(found.flatMap((permission) => [[permission._id, permission] as const, [slugKey(permission.slug), permission] as const]));
};

/** By name, without regard to letter case: roles differ in more than that (permissions §1). */
const importRoles = async ({ roles }: ImportReferencesDeps, names: readonly string[], call: Call): Promise<Map<string, RoleDocument>> => {
  // Of several spellings the first is the name of a role that is made.
  const wanted = new Map([...new Set(names)].reverse().map((name) => [nameKey(name), name]));
  const found = new Map<string, RoleDocument>();
  for (const chunk of chunks([...wanted.values()], CHUNK)) {
    for (const role of await roles.findManyByName(chunk, call)) found.set(nameKey(role.name), role);
  }
  const missing = [...wanted].filter(([key]) => !found.has(key));
  await pMap(
    missing,
    async ([key, name]) => {
      const id = createId("role", call.receivedAt);
      const event = auditEvent(auditSource(call), "role.create", `Created role ${name}`, resource("role", id, name));
      found.set(key, await roles.findOrCreate({ id, name, permissionIds: [] }, call.receivedAt, [event], call));
    },
    { concurrency: PARALLEL },
  );
  return found;
};

/** Ids by externalId. */
const importIdentities = async (
  { identities }: ImportReferencesDeps,
  externalIds: readonly string[],
  call: Call,
): Promise<Map<string, string>> => {
  const found = new Map<string, string>();
  // In one order for all callers, so that those who make the same ones do not wait for each other in a circle.
  for (const chunk of chunks([...new Set(externalIds)].sort(), CHUNK)) {
    for (const { externalId = "", _id } of await identities.findIdsByExternalId(chunk, call)) found.set(externalId, _id);
    const made = chunk
      .filter((externalId) => !found.has(externalId))
      .map((externalId): { identity: NewIdentity; events: readonly AuditEvent[] } => {
        const id = createId("id", call.receivedAt);
        const made = resource("identity", id, externalId);
        return {
          identity: { id, externalId },
          events: [auditEvent(auditSource(call), "identity.create", `Created identity ${externalId}`, made)],
        };
      });
    if (made.length === 0) continue;
    try {
      await identities.insertMany(made, call.receivedAt, call);
      for (const { identity } of made) found.set(identity.externalId, identity.id);
    } catch (error) {
      if (!(error instanceof DuplicateKeyError)) throw error;
      // Someone else made one of them meanwhile.
      await pMap(
        made,
        async ({ identity: { externalId } }) => {
          found.set(externalId, (await linkIdentity(identities, externalId, call))._id);
        },
        { concurrency: PARALLEL },
      );
    }
  }
  return found;
};

/** Finds what the keys refer to, each object once; permissions, identities and, unlike elsewhere, roles are made when unknown (keys §7). */
export const importReferences = async (deps: ImportReferencesDeps, keys: readonly MigrateKey[], call: Call): Promise<ImportReferences> => {
  const permissionItems = new Set(keys.flatMap((key) => key.permissions));
  const permissions = await importPermissions(deps, [...permissionItems], call);
  const roles = await importRoles(
    deps,
    keys.flatMap((key) => key.roles),
    call,
  );
  const identityIds = await importIdentities(
    deps,
    keys.flatMap((key) => key.externalId ?? []),
    call,
  );
  return {
    permission: (item) => permissions.get(item) ?? known(permissions, slugKey(item)),
    role: (name) => known(roles, nameKey(name)),
    identityId: (externalId) => known(identityIds, externalId),
  };
};
