import type {
  RootKeysServiceUpdateKeyRequestSchema,
  RootKeysServiceUpdateKeyResponseSchema,
} from "../../../gen/latchkey/v2/root_keys_pb.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { requireContained, requireNoLaterExpiry } from "../../domain/containment.ts";
import { changeRootKey, readPermissions } from "../../rootKeys/rootKeys.ts";
import type { RootKeyDocument } from "../../storage/documents.ts";
import type { Change } from "../../storage/modify.ts";
import { auditSource } from "../auditSource.ts";
import type { Procedure } from "../call.ts";
import { findRootKey, type RootKeysDeps, rootKeyNotFound } from "./findRootKey.ts";

/** Changes a root key: what is given, `permissions` as a whole (rootkeys §2). */
export const updateKey =
  (deps: RootKeysDeps): Procedure<typeof RootKeysServiceUpdateKeyRequestSchema, typeof RootKeysServiceUpdateKeyResponseSchema> =>
  async ({ keyId, name, enabled, permissions }, call) => {
    const newName = name === undefined ? undefined : name.kind.case === "value" ? name.kind.value : null;
    const given = permissions && readPermissions(permissions.values);
    requirePermissions(call.caller, ["root_key.update_root_key", keyId]);
    const found = await findRootKey(deps, keyId, call);
    if (given) requireContained(call.caller, given);
    requireNoLaterExpiry(call.caller, found.expires);
    const answer = { data: {} };
    await call.begin({ collection: "rootKeys", id: keyId }, answer);
    const change = changeRootKey({ name: newName, enabled, permissions: given }, auditSource(call));
    const decide = (rootKey: RootKeyDocument): Change<RootKeyDocument> => {
      // Its expiry may have been put off since it was looked up.
      requireNoLaterExpiry(call.caller, rootKey.expires);
      const { update, events } = change(rootKey);
      return { update, events: call.mark(events) };
    };
    if ((await deps.rootKeys.modify(keyId, decide, call)) === null) throw rootKeyNotFound(keyId);
    return answer;
  };
