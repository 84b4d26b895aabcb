import type {
  RootKeysServiceUpdateKeyRequestSchema,
  RootKeysServiceUpdateKeyResponseSchema,
} from "../../../gen/latchkey/v2/root_keys_pb.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { readPermissions, updateRootKey } from "../../rootKeys/rootKeys.ts";
import { auditSource } from "../auditSource.ts";
import type { Procedure } from "../call.ts";
import { requireContained, requireNoLaterExpiry } from "./containment.ts";
import { findRootKey, type RootKeysDeps } from "./findRootKey.ts";

/** Changes a root key: what is given, `permissions` as a whole (rootkeys §2). */
export const updateKey =
  (deps: RootKeysDeps): Procedure<typeof RootKeysServiceUpdateKeyRequestSchema, typeof RootKeysServiceUpdateKeyResponseSchema> =>
  async ({ keyId, name, enabled, permissions }, call) => {
    const given = permissions && readPermissions(permissions.values);
    requirePermissions(call.caller, ["root_key.update_root_key", keyId]);
    const found = await findRootKey(deps, keyId, call);
    if (given) requireContained(call.caller, given);
    requireNoLaterExpiry(call.caller, found.expires);
    const newName = name === undefined ? undefined : name.kind.case === "value" ? name.kind.value : null;
    const answer = { data: {} };
    await call.begin({ collection: "rootKeys", id: keyId }, answer);
    const update = { name: newName, enabled, permissions: given };
    await updateRootKey(deps.rootKeys, keyId, update, auditSource(call), (events) => call.mark(events));
    return answer;
  };
