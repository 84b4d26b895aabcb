import type { WhoamiRequestSchema, WhoamiResponseSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { allowsAny, insufficientPermissions, permits } from "../../../platform/authorization/authorization.ts";
import { ServiceError } from "../../../platform/base/errors.ts";
import { hashKey } from "../../../platform/secrets/keySecret.ts";
import type { ApisRepository } from "../../apis/apisRepository.ts";
import type { Procedure } from "../../calls/call.ts";
import type { KeysRepository } from "../keysRepository.ts";
import { withDueRefills } from "../refillCredits.ts";
import { type KeyObjectDeps, keyObject } from "./shared/keyObject.ts";

export interface WhoamiDeps extends KeyObjectDeps {
  readonly keys: Pick<KeysRepository, "findByHash">;
  readonly apis: Pick<ApisRepository, "find">;
}

/**
 * Looks a key up by its secret, without verifying it (keys §8). A key of an API that the caller may not read is
 * answered just like an unknown one.
 */
export const whoami =
  (deps: WhoamiDeps): Procedure<typeof WhoamiRequestSchema, typeof WhoamiResponseSchema> =>
  async (request, call) => {
    if (!allowsAny(call.caller, "api.read_key")) throw insufficientPermissions(call.caller, [["api.read_key", "*"]]);
    const key = await deps.keys.findByHash(hashKey(request.key), call);
    const visible =
      key !== null &&
      key.pendingMigrationId === undefined &&
      permits(call.caller, "api.read_key", key.apiId) &&
      (await deps.apis.find(key.apiId, call)) !== null;
    if (!visible) throw new ServiceError("key_not_found", "No key has this secret.");
    return { data: await keyObject(deps, withDueRefills(key, call.receivedAt), call) };
  };
