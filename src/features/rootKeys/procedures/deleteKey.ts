import type {
  RootKeysServiceDeleteKeyRequestSchema,
  RootKeysServiceDeleteKeyResponseSchema,
} from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { remove } from "../../calls/mutations.ts";
import { findRootKey, type RootKeysDeps, rootKeyNotFound } from "../findRootKey.ts";

/** Deletes a root key: its calls are 401 `key_not_found` from then on (rootkeys §2). */
export const deleteKey =
  (deps: RootKeysDeps): Procedure<typeof RootKeysServiceDeleteKeyRequestSchema, typeof RootKeysServiceDeleteKeyResponseSchema> =>
  async ({ keyId }, call) => {
    requirePermissions(call.caller, ["root_key.delete_root_key", keyId]);
    const found = await findRootKey(deps, keyId, call);
    const event = auditEvent(auditSource(call), "rootKey.delete", `Deleted root key ${keyId}`, resource("key", keyId, found.name));
    return remove(call, { collection: "rootKeys", found, event, gone: () => rootKeyNotFound(keyId) }, (events) =>
      deps.rootKeys.delete(found, call.receivedAt, events, call),
    );
  };
