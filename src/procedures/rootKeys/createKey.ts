import type {
  RootKeysServiceCreateKeyRequestSchema,
  RootKeysServiceCreateKeyResponseSchema,
} from "../../../gen/latchkey/v2/root_keys_pb.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { requireContained, requireNoLaterExpiry } from "../../domain/containment.ts";
import type { Violation } from "../../domain/errors.ts";
import { createRootKey, readPermissions } from "../../rootKeys/rootKeys.ts";
import { auditSource } from "../auditSource.ts";
import type { Procedure } from "../call.ts";
import type { RootKeysDeps } from "./findRootKey.ts";

const expiryHasPassed: Violation = {
  location: "body.expires",
  message: "the expiry must lie in the future",
  fix: "Send a later time in Unix milliseconds.",
};

/** Makes a root key and returns its secret, this once; it holds no more than its maker (rootkeys §2). */
export const createKey =
  ({ rootKeys }: RootKeysDeps): Procedure<typeof RootKeysServiceCreateKeyRequestSchema, typeof RootKeysServiceCreateKeyResponseSchema> =>
  async (request, call) => {
    const expires = request.expires?.kind.case === "value" ? Number(request.expires.kind.value) : undefined;
    const past = expires !== undefined && expires <= call.receivedAt;
    const permissions = readPermissions(request.permissions, past ? [expiryHasPassed] : []);
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
