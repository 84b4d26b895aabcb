import type { DeleteKeyRequestSchema, DeleteKeyResponseSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { remove } from "../../calls/mutations.ts";
import type { KeysRepository } from "../keysRepository.ts";
import { type FindKeyDeps, findKey, keyNotFound } from "./shared/findKey.ts";

export interface DeleteKeyDeps extends FindKeyDeps {
  readonly keys: Pick<KeysRepository, "find" | "delete" | "erase">;
}

/** Revokes a key: it stops verifying at once. `permanent` also frees its hash (keys §5). */
export const deleteKey =
  (deps: DeleteKeyDeps): Procedure<typeof DeleteKeyRequestSchema, typeof DeleteKeyResponseSchema> =>
  async ({ keyId, permanent }, call) => {
    const found = await findKey(deps, keyId, call);
    requirePermissions(call.caller, ["api.delete_key", found.apiId]);
    const event = auditEvent(auditSource(call), "key.delete", `Deleted key ${keyId}`, resource("key", keyId, found.name));
    const write = permanent ? deps.keys.erase : deps.keys.delete;
    return remove(call, { collection: "keys", found, event, gone: () => keyNotFound(keyId) }, (events) =>
      write(found, call.receivedAt, events, call),
    );
  };
