import { CreateKeyRequestSchema, type CreateKeyResponseSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { integerOrDefault } from "../../../platform/rpc/description/fieldDefault.ts";
import type { ApisRepository } from "../../apis/apisRepository.ts";
import { findApi } from "../../apis/findApi.ts";
import { resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { create } from "../../calls/mutations.ts";
import type { IdentitiesRepository } from "../../identities/identitiesRepository.ts";
import { linkIdentity } from "../../identities/linkIdentity.ts";
import { createMissingPermissions, type GrantablePermissions, resolvePermissions } from "../../permissions/resolvePermissions.ts";
import type { RolesRepository } from "../../permissions/rolesRepository.ts";
import { findRoles } from "./shared/findRoles.ts";
import { type IssueKeyDeps, issueKey, type KeyRingDeps, requireKeyRing, showNewKey, storeSecret } from "./shared/issueKey.ts";
import { type Connections, keyCreated, storeKey } from "./shared/keyConfiguration.ts";

export interface CreateKeyDeps extends IssueKeyDeps, KeyRingDeps {
  readonly apis: Pick<ApisRepository, "find">;
  readonly identities: Pick<IdentitiesRepository, "findOrCreate">;
  readonly permissions: GrantablePermissions;
  readonly roles: Pick<RolesRepository, "findManyByName">;
}

/** Issues a key and returns its secret, this once (keys §2). */
export const createKey =
  (deps: CreateKeyDeps): Procedure<typeof CreateKeyRequestSchema, typeof CreateKeyResponseSchema> =>
  async (request, call) => {
    const { apiId, recoverable } = request;
    requirePermissions(call.caller, ["api.create_key", apiId], ...(recoverable ? [["api.encrypt_key", apiId] as const] : []));
    const api = await findApi(deps.apis, apiId, call);
    const roles = await findRoles(deps.roles, request.roles, call);
    const keyRing = recoverable ? requireKeyRing(deps) : undefined;

    const resolved = await resolvePermissions(deps.permissions, request.permissions, call);
    const { prefix, name } = request;
    const form = { byteLength: integerOrDefault(CreateKeyRequestSchema.field.byteLength, request.byteLength), prefix };
    const now = call.receivedAt;
    const source = auditSource(call);
    const prepare = async (): Promise<Connections> => {
      const permissions = await createMissingPermissions(deps.permissions, resolved, call);
      const identity = request.externalId === undefined ? undefined : await linkIdentity(deps.identities, request.externalId, call);
      return { api, roles, permissions, identityId: identity?._id };
    };
    return issueKey(form, call, (fresh) => {
      const { keyId } = fresh;
      const events = (connections: Connections) => keyCreated(source, "Created", resource("key", keyId, name), connections);
      return create(call, { collection: "keys", id: keyId, prepare, events, answer: { data: showNewKey(fresh) } }, (marked, connections) =>
        deps.keys.insert({ ...storeKey(keyId, request, connections, now, marked), ...storeSecret(fresh, form, keyRing) }, call),
      );
    });
  };
