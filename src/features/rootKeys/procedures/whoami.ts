import type { RootKeysServiceWhoamiRequestSchema, RootKeysServiceWhoamiResponseSchema } from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { ServiceError } from "../../../platform/base/errors.ts";
import type { Procedure } from "../../calls/call.ts";
import { findRootKey, type RootKeysDeps } from "../findRootKey.ts";
import { showRootKey } from "../rootKeyObject.ts";

/** The caller's own root key, as listKeys shows it; no permission needed. 404 `key_not_found` once it is deleted (management §5), and for a person, who has none (console §1). */
export const whoami =
  (deps: RootKeysDeps): Procedure<typeof RootKeysServiceWhoamiRequestSchema, typeof RootKeysServiceWhoamiResponseSchema> =>
  async (_request, call) => {
    if (call.caller.isPerson) throw new ServiceError("key_not_found", "You are signed in as a person: there is no root key of yours.");
    const found = await findRootKey(deps, call.caller.rootKeyId, call);
    call.showRevision(found);
    return { data: showRootKey(found, call.receivedAt) };
  };
