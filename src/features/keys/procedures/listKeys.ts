import { ListKeysRequestSchema, type ListKeysResponseSchema } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { ServiceError } from "../../../platform/base/errors.ts";
import type { ApisRepository } from "../../apis/apisRepository.ts";
import { findApi } from "../../apis/findApi.ts";
import type { Procedure } from "../../calls/call.ts";
import { readPageRequest, showPagination } from "../../calls/paging.ts";
import type { IdentitiesRepository } from "../../identities/identitiesRepository.ts";
import type { KeysRepository } from "../keysRepository.ts";
import { withDueRefills } from "../refillCredits.ts";
import { type DecryptKeyDeps, decryptKey } from "./decryptKey.ts";
import { type KeyRingDeps, requireKeyRing } from "./shared/issueKey.ts";
import { type KeyObjectDeps, keyObjects } from "./shared/keyObject.ts";

export type ListKeysDeps = KeyObjectDeps &
  KeyRingDeps &
  Pick<DecryptKeyDeps, "keys"> & {
    readonly apis: Pick<ApisRepository, "find">;
    readonly identities: Pick<IdentitiesRepository, "findByExternalId">;
    readonly keys: Pick<KeysRepository, "list">;
  };

/** Lists the live keys of an API, ascending by id, of one identity if told (apis: listKeys). */
export const listKeys =
  (deps: ListKeysDeps): Procedure<typeof ListKeysRequestSchema, typeof ListKeysResponseSchema> =>
  async (request, call) => {
    const { apiId, externalId, decrypt } = request;
    requirePermissions(
      call.caller,
      ["api.read_key", apiId],
      ["api.read_api", apiId],
      ...(decrypt ? [["api.decrypt_key", apiId] as const] : []),
    );
    await findApi(deps.apis, apiId, call);
    const keyRing = decrypt ? requireKeyRing(deps) : undefined;
    const identity = externalId === undefined ? undefined : await deps.identities.findByExternalId(externalId, call);
    if (identity === null) return { data: [], pagination: { hasMore: false } };

    const owner = identity === undefined ? { apiId } : { apiId, identityId: identity._id };
    const page = await deps.keys.list(owner, readPageRequest(ListKeysRequestSchema, request), call);
    const items = await keyObjects(
      deps,
      page.items.map((key) => withDueRefills(key, call.receivedAt)),
      call,
    );
    const shown = await Promise.all(
      page.items.map(async (key, i) => {
        const item = items[i] ?? {};
        if (!keyRing || !key.encrypted) return [item];
        try {
          return [{ ...item, plaintext: await decryptKey({ ...deps, keyRing }, key, call) }];
        } catch (error) {
          // Deleted since the page was read: deleted keys are not listed, and their secrets not handed out.
          if (error instanceof ServiceError && error.reason === "key_not_found") return [];
          throw error;
        }
      }),
    );
    return { data: shown.flat(), pagination: showPagination(page) };
  };
