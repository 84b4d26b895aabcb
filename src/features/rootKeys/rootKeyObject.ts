import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RootKeySchema } from "../../../gen/latchkey/v2/root_keys_pb.ts";
import { allPermissions } from "../../platform/authorization/authorization.ts";
import type { RootKeyDocument } from "../../platform/storage/port/documents.ts";

const DAY_MS = 86_400_000;
/** What was not used for so long is not shown as used. */
const KEPT_MS = 30 * DAY_MS;

/** A root key as listKeys and whoami show it: every field, never a secret or its hash (rootkeys §2). */
export const showRootKey = (rootKey: RootKeyDocument, now: number): MessageInitShape<typeof RootKeySchema> => ({
  keyId: rootKey._id,
  name: { kind: rootKey.name === undefined ? { case: "null", value: 0 } : { case: "value", value: rootKey.name } },
  start: rootKey.start,
  end: rootKey.end,
  enabled: rootKey.enabled,
  createdAt: BigInt(rootKey.createdAt),
  lastUsedAt: BigInt(rootKey.lastUsedAt ?? 0),
  expires: { kind: rootKey.expires === undefined ? { case: "null", value: 0 } : { case: "value", value: BigInt(rootKey.expires) } },
  permissions: [...(rootKey.permissions ?? allPermissions)],
  usedPermissions: (rootKey.usedPermissions ?? [])
    .filter(({ lastUsedAt }) => lastUsedAt > now - KEPT_MS)
    .map(({ permission, lastUsedAt }) => ({ permission, lastUsedAt: BigInt(lastUsedAt) })),
});
