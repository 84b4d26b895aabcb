import type { GetKeyRequestSchema, GetKeyResponseSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { Procedure } from "../../calls/call.ts";
import { withDueRefills } from "../refillCredits.ts";
import { type DecryptKeyDeps, decryptKey } from "./decryptKey.ts";
import { type FindKeyDeps, findKey } from "./shared/findKey.ts";
import { type KeyRingDeps, requireKeyRing } from "./shared/issueKey.ts";
import { type KeyObjectDeps, keyObject } from "./shared/keyObject.ts";

export type GetKeyDeps = FindKeyDeps & KeyObjectDeps & KeyRingDeps & Pick<DecryptKeyDeps, "keys">;

/** Reads one key by its id; with `decrypt` also its secret, if it is recoverable (keys §4). */
export const getKey =
  (deps: GetKeyDeps): Procedure<typeof GetKeyRequestSchema, typeof GetKeyResponseSchema> =>
  async ({ keyId, decrypt }, call) => {
    const key = await findKey(deps, keyId, call);
    requirePermissions(call.caller, ["api.read_key", key.apiId], ...(decrypt ? [["api.decrypt_key", key.apiId] as const] : []));
    const keyRing = decrypt ? requireKeyRing(deps) : undefined;
    const data = await keyObject(deps, withDueRefills(key, call.receivedAt), call);
    const plaintext = keyRing && key.encrypted && (await decryptKey({ ...deps, keyRing }, key, call));
    call.showRevision(key);
    return { data: plaintext === undefined ? data : { ...data, plaintext } };
  };
