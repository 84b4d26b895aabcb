import type {
  RootKeysServiceUpdateKeyRequestSchema,
  RootKeysServiceUpdateKeyResponseSchema,
} from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { requireContained, requireNoLaterExpiry } from "../../../platform/authorization/containment.ts";
import type { RootKeyDocument } from "../../../platform/storage/port/documents.ts";
import type { Modification } from "../../../platform/storage/repositories/shared/modify.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { change } from "../../calls/mutations.ts";
import { callerOf } from "../authenticator.ts";
import { findRootKey, type RootKeysDeps, rootKeyNotFound } from "../findRootKey.ts";
import { givenExpiry, refusedExpiry } from "../givenExpiry.ts";
import { changeRootKey, readPermissions, refuse, refusedPermissions } from "../rootKeyChanges.ts";

type UpdateKey = Procedure<typeof RootKeysServiceUpdateKeyRequestSchema, typeof RootKeysServiceUpdateKeyResponseSchema>;

const judge: NonNullable<UpdateKey["judge"]> = ({ permissions, expires }, now) => [
  ...refusedPermissions(permissions?.values ?? []),
  ...refusedExpiry(expires, now),
];

/** Changes a root key: what is given, `permissions` as a whole (rootkeys §2, management §5). */
export const updateKey = (deps: RootKeysDeps): UpdateKey => {
  const update: UpdateKey = async (request, call) => {
    const { keyId, name, enabled } = request;
    refuse(judge(request, call.receivedAt));
    const newName = name === undefined ? undefined : name.kind.case === "value" ? name.kind.value : null;
    const given = request.permissions && readPermissions(request.permissions.values);
    const expires = givenExpiry(request.expires);
    requirePermissions(call.caller, ["root_key.update_root_key", keyId]);
    const found = await findRootKey(deps, keyId, call);
    if (given) requireContained(call.caller, given);
    requireNoLaterExpiry(call.caller, found.expires);
    // After the one that it has: what it is given is what the call hands out.
    if (expires !== undefined) requireNoLaterExpiry(call.caller, expires ?? undefined);
    const changed = changeRootKey({ name: newName, enabled, permissions: given, expires }, auditSource(call));
    const decide = (rootKey: RootKeyDocument): Modification<RootKeyDocument> => {
      // Its expiry may have been put off since it was looked up.
      requireNoLaterExpiry(call.caller, rootKey.expires);
      if (keyId === call.caller.rootKeyId) {
        // Its own limits may be tighter now than those that this node remembers (protocol §7).
        const caller = callerOf(rootKey);
        if (given) requireContained(caller, given);
        if (expires !== undefined) requireNoLaterExpiry(caller, expires ?? undefined);
      }
      return changed(rootKey);
    };
    const { modify } = deps.rootKeys;
    return change(call, { collection: "rootKeys", modify, found, gone: () => rootKeyNotFound(keyId), answer: { data: {} } }, decide);
  };
  return Object.assign(update, { judge });
};
