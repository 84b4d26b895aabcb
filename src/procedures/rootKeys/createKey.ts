import type {
  RootKeysServiceCreateKeyRequestSchema,
  RootKeysServiceCreateKeyResponseSchema,
} from "../../../gen/latchkey/v2/root_keys_pb.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { requireContained, requireNoLaterExpiry } from "../../domain/containment.ts";
import { createRootKey, readPermissions, refuse, refusedPermissions } from "../../rootKeys/rootKeyChanges.ts";
import { auditSource } from "../shared/auditSource.ts";
import type { Procedure } from "../shared/call.ts";
import type { RootKeysDeps } from "../shared/rootKeys/findRootKey.ts";
import { givenExpiry, refusedExpiry } from "../shared/rootKeys/givenExpiry.ts";

type Create = Procedure<typeof RootKeysServiceCreateKeyRequestSchema, typeof RootKeysServiceCreateKeyResponseSchema>;

const judge: NonNullable<Create["judge"]> = ({ permissions, expires }, now) => [
  ...refusedPermissions(permissions),
  ...refusedExpiry(expires, now),
];

/** Makes a root key and returns its secret, this once; it holds no more than its maker (rootkeys §2). */
export const createKey = ({ rootKeys }: RootKeysDeps): Create => {
  const create: Create = async (request, call) => {
    refuse(judge(request, call.receivedAt));
    const expires = givenExpiry(request.expires) ?? undefined;
    const permissions = readPermissions(request.permissions);
    requirePermissions(call.caller, ["root_key.create_root_key", "*"]);
    requireContained(call.caller, permissions);
    requireNoLaterExpiry(call.caller, expires);
    const fresh = { rootKeyId: call.newId("rk"), secret: call.newRootKeySecret() };
    const answer = { data: { keyId: fresh.rootKeyId, key: fresh.secret.key.reveal() } };
    await call.begin({ collection: "rootKeys", id: fresh.rootKeyId }, answer);
    const wanted = { name: request.name, permissions, expires };
    const { signal, caller } = call;
    await createRootKey(rootKeys, wanted, auditSource(call), fresh, { signal, caller, mark: (events) => call.mark(events) });
    return answer;
  };
  return Object.assign(create, { judge });
};
