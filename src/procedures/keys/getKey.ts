import type { GetKeyRequestSchema, GetKeyResponseSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { ServiceError } from "../../domain/errors.ts";
import { withDueRefills } from "../../verification/refillCredits.ts";
import type { Procedure } from "../call.ts";
import { type FindKeyDeps, findKey } from "./findKey.ts";
import { type KeyObjectDeps, keyObject } from "./keyObject.ts";

/** Reads one key by its id (keys §4). */
export const getKey =
  (deps: FindKeyDeps & KeyObjectDeps): Procedure<typeof GetKeyRequestSchema, typeof GetKeyResponseSchema> =>
  async ({ keyId, decrypt }, call) => {
    const key = await findKey(deps, keyId, call);
    requirePermissions(call.caller, ["api.read_key", key.apiId], ...(decrypt ? [["api.decrypt_key", key.apiId] as const] : []));
    if (decrypt)
      throw new ServiceError("precondition_failed", "Keys can only be decrypted with an encryption key, and none is configured.");
    return { data: await keyObject(deps, withDueRefills(key, call.receivedAt), call) };
  };
