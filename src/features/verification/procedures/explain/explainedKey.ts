import type { ExplainRequest } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import {
  type Action,
  allows,
  allowsAny,
  insufficientPermissions,
  requirePermissions,
} from "../../../../platform/authorization/authorization.ts";
import { ServiceError } from "../../../../platform/base/errors.ts";
import { hashKey } from "../../../../platform/secrets/keySecret.ts";
import type { ApiDocument, KeyDocument, PermissionDocument, RoleDocument } from "../../../../platform/storage/port/documents.ts";
import type { ApisRepository } from "../../../apis/apisRepository.ts";
import type { Call } from "../../../calls/call.ts";
import { readAll } from "../../../calls/readAll.ts";
import type { IdentitiesRepository } from "../../../identities/identitiesRepository.ts";
import type { KeysRepository } from "../../../keys/keysRepository.ts";
import { keyNotFound } from "../../../keys/procedures/shared/findKey.ts";
import type { PermissionsRepository } from "../../../permissions/permissionsRepository.ts";
import type { RolesRepository } from "../../../permissions/rolesRepository.ts";
import { buildVerificationEntry, type VerificationEntry } from "../../verificationEntry.ts";

export interface ExplainedKeyDeps {
  readonly keys: Pick<KeysRepository, "find" | "findByHash">;
  readonly apis: Pick<ApisRepository, "find">;
  readonly identities: Pick<IdentitiesRepository, "find">;
  readonly roles: Pick<RolesRepository, "findMany">;
  readonly permissions: Pick<PermissionsRepository, "findMany">;
}

/** A key with all that a verification of it rests on, as the store has it now. */
export interface ExplainedKey {
  readonly key: KeyDocument;
  readonly api: ApiDocument;
  /** Exactly what a verification decides by. */
  readonly entry: VerificationEntry;
  /** Held directly. */
  readonly direct: readonly PermissionDocument[];
  readonly roles: readonly { readonly role: RoleDocument; readonly permissions: readonly PermissionDocument[] }[];
}

const NEEDED: readonly Action[] = ["api.verify_key", "api.read_key"];

const secretNotFound = (): ServiceError => new ServiceError("key_not_found", "No key has this secret.");

/** By its secret: a key of an API that the caller may not see is answered just like an unknown one (management §8). */
const findBySecret = async ({ keys, apis }: ExplainedKeyDeps, secret: string, call: Call): Promise<readonly [KeyDocument, ApiDocument]> => {
  const lacking = NEEDED.filter((action) => !allowsAny(call.caller, action));
  if (lacking.length > 0)
    throw insufficientPermissions(
      call.caller,
      lacking.map((action) => [action, "*"]),
    );
  const key = await keys.findByHash(hashKey(secret), call);
  if (key === null || key.pendingMigrationId !== undefined) throw secretNotFound();
  if (!NEEDED.every((action) => allows(call.caller, action, key.apiId))) throw secretNotFound();
  const api = await apis.find(key.apiId, call);
  if (api === null) throw secretNotFound();
  return [key, api];
};

const findById = async ({ keys, apis }: ExplainedKeyDeps, keyId: string, call: Call): Promise<readonly [KeyDocument, ApiDocument]> => {
  const key = await keys.find(keyId, call);
  if (key === null) throw keyNotFound(keyId);
  if (key.pendingMigrationId !== undefined) {
    throw new ServiceError("key_not_found", `The key ${keyId} waits for its migration: verifyKey finds it only with that.`);
  }
  const api = await apis.find(key.apiId, call);
  if (api === null) throw keyNotFound(keyId);
  return [key, api];
};

/**
 * The key that a request of explain names, read from the store. 404 `key_not_found` for one that is unknown or deleted, or
 * whose API is, or that waits for its migration; by its id 403 after that, by its secret 403 only for a caller that lacks an action for every API.
 */
export const findExplainedKey = async (deps: ExplainedKeyDeps, request: ExplainRequest, call: Call): Promise<ExplainedKey> => {
  const { keyId, key: secret = "" } = request;
  const [key, api] = keyId === undefined ? await findBySecret(deps, secret, call) : await findById(deps, keyId, call);
  requirePermissions(call.caller, ...NEEDED.map((action) => [action, key.apiId] as const));

  const [identity, roleOf] = await Promise.all([
    key.identityId === undefined ? null : deps.identities.find(key.identityId, call),
    readAll(key.roleIds, (ids) => deps.roles.findMany(ids, call)),
  ]);
  const held = [...roleOf.values()];
  const permissionOf = await readAll([...key.permissionIds, ...held.flatMap(({ permissionIds }) => permissionIds)], (ids) =>
    deps.permissions.findMany(ids, call),
  );
  const present = (ids: readonly string[]): PermissionDocument[] => [...new Set(ids)].flatMap((id) => permissionOf.get(id) ?? []);
  return {
    key,
    api,
    entry: buildVerificationEntry({ api, key, identity, roles: held, permissions: [...permissionOf.values()] }),
    direct: present(key.permissionIds),
    roles: held.map((role) => ({ role, permissions: present(role.permissionIds) })).sort((a, b) => (a.role.name < b.role.name ? -1 : 1)),
  };
};
