import type { CreateKeyRequestSchema, CreateKeyResponseSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import type { ApisRepository } from "../../storage/repositories/apisRepository.ts";
import type { IdentitiesRepository } from "../../storage/repositories/identitiesRepository.ts";
import type { RolesRepository } from "../../storage/repositories/rolesRepository.ts";
import { newDocument } from "../../storage/repositories/shared/audited.ts";
import { textOf } from "../../util/jsonText.ts";
import { findApi } from "../shared/apis/findApi.ts";
import { auditSource } from "../shared/auditSource.ts";
import type { Procedure } from "../shared/call.ts";
import { linkIdentity } from "../shared/identities/linkIdentity.ts";
import { findRoles } from "../shared/keys/findRoles.ts";
import { type IssueKeyDeps, issueKey, type KeyRingDeps, requireKeyRing, showNewKey, storeSecret } from "../shared/keys/issueKey.ts";
import { permissionEvents, roleEvents, storeCredits, storeName } from "../shared/keys/keyConfiguration.ts";
import { create } from "../shared/mutations.ts";
import { createMissingPermissions, type GrantablePermissions, resolvePermissions } from "../shared/permissions/resolvePermissions.ts";
import { storeRatelimits } from "../shared/storedRatelimits.ts";

const DEFAULT_BYTE_LENGTH = 16;

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
    const form = { byteLength: Number(request.byteLength ?? DEFAULT_BYTE_LENGTH), prefix };
    const now = call.receivedAt;
    const source = auditSource(call);
    return issueKey(form, call, (fresh) =>
      create(call, {
        collection: "keys",
        id: fresh.keyId,
        answer: { data: showNewKey(fresh) },
        prepare: async () => ({
          permissions: await createMissingPermissions(deps.permissions, resolved, call),
          identity: request.externalId === undefined ? undefined : await linkIdentity(deps.identities, request.externalId, call),
        }),
        events: ({ permissions }) => {
          const key = resource("key", fresh.keyId, name);
          return [
            auditEvent(source, "key.create", `Created key ${fresh.keyId}`, key, resource("api", apiId, api.name)),
            ...permissionEvents(source, "connect", key, permissions),
            ...roleEvents(source, "connect", key, roles),
          ];
        },
        insert: (events, { permissions, identity }) => {
          const document = {
            ...newDocument(fresh.keyId, now, events),
            ...storeSecret(fresh, form, keyRing),
            apiId,
            ...storeName(name),
            ...(request.meta === undefined ? {} : { meta: textOf(request.meta) }),
            ...(request.expires === undefined ? {} : { expires: Number(request.expires) }),
            ...(identity === undefined ? {} : { identityId: identity._id }),
            ...storeCredits(request.credits, now),
            enabled: request.enabled ?? true,
            permissionIds: permissions.map((permission) => permission._id),
            roleIds: roles.map((role) => role._id),
            ratelimits: storeRatelimits(request.ratelimits, [], now),
            revision: 0,
          };
          return deps.keys.insert(document, call);
        },
      }),
    );
  };
