import type {
  RootKeysServiceCreateKeyRequestSchema,
  RootKeysServiceCreateKeyResponseSchema,
} from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { requireContained, requireNoLaterExpiry } from "../../../platform/authorization/containment.ts";
import { createRootKeySecret } from "../../../platform/secrets/rootKeySecret.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { create } from "../../calls/mutations.ts";
import type { RootKeysDeps } from "../findRootKey.ts";
import { givenExpiry, refusedExpiry } from "../givenExpiry.ts";
import { createRootKey, readPermissions, refuse, refusedPermissions, rootKeyCreated } from "../rootKeyChanges.ts";

type Create = Procedure<typeof RootKeysServiceCreateKeyRequestSchema, typeof RootKeysServiceCreateKeyResponseSchema>;

const judge: NonNullable<Create["judge"]> = ({ permissions, expires }, now) => [
  ...refusedPermissions(permissions),
  ...refusedExpiry(expires, now),
];

/** Makes a root key and returns its secret, this once; it holds no more than its maker (rootkeys §2). */
export const createKey = ({ rootKeys }: RootKeysDeps): Create => {
  const procedure: Create = async (request, call) => {
    refuse(judge(request, call.receivedAt));
    const expires = givenExpiry(request.expires) ?? undefined;
    const permissions = readPermissions(request.permissions);
    requirePermissions(call.caller, ["root_key.create_root_key", "*"]);
    requireContained(call.caller, permissions);
    requireNoLaterExpiry(call.caller, expires);
    const fresh = { rootKeyId: call.newId("rk"), secret: createRootKeySecret(call.drawBytes) };
    const wanted = { name: request.name, permissions, expires };
    const source = auditSource(call);
    const answer = { data: { keyId: fresh.rootKeyId, key: fresh.secret.key.reveal() } };
    const events = [rootKeyCreated(source, fresh.rootKeyId, wanted.name)];
    return create(call, { collection: "rootKeys", id: fresh.rootKeyId, events, answer }, (marked) =>
      createRootKey(rootKeys, wanted, source, fresh, marked, call),
    );
  };
  return Object.assign(procedure, { judge });
};
