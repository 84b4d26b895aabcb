import type { RerollKeyRequestSchema, RerollKeyResponseSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { createId } from "../../../platform/base/ids.ts";
import type { KeyDocument } from "../../../platform/storage/port/documents.ts";
import { newDocument } from "../../../platform/storage/repositories/shared/audited.ts";
import { changesOfKey } from "../../../platform/storage/repositories/shared/describeChanges.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import { insertOnce, type Procedure } from "../../calls/call.ts";
import { claimRevision } from "../../calls/claimRevision.ts";
import { changeSeveral } from "../../calls/mutations.ts";
import type { KeysRepository } from "../keysRepository.ts";
import { withDueRefills } from "../refillCredits.ts";
import { findKey, keyNotFound, type ModifyKeyDeps } from "./shared/findKey.ts";
import { type IssueKeyDeps, issueKey, type KeyRingDeps, type NewKey, requireKeyRing, showNewKey, storeSecret } from "./shared/issueKey.ts";
import { storeName } from "./shared/keyConfiguration.ts";

export type RerollKeyDeps = ModifyKeyDeps & IssueKeyDeps & KeyRingDeps & { readonly keys: Pick<KeysRepository, "findPresent"> };

const MINUTE_MS = 60_000;

/** Everything before the last `_` of what is shown of a key: the secret part never holds one. */
const prefixOf = ({ prefix, start }: KeyDocument): string | undefined => {
  if (prefix !== undefined) return prefix;
  const end = start.lastIndexOf("_");
  return end === -1 ? undefined : start.slice(0, end);
};

/** When the old key stops working; undefined = its own expiry stays (keys §6). */
const oldExpiry = (delay: number | undefined, own: number | undefined, now: number): number | undefined => {
  if (delay === undefined) return own;
  const wanted = delay === 0 ? now : Math.ceil((now + delay) / MINUTE_MS) * MINUTE_MS;
  return own === undefined ? wanted : Math.min(wanted, own);
};

/** Makes a new key with a new secret from an existing one, and lets the old one run out (keys §6). */
export const rerollKey =
  (deps: RerollKeyDeps): Procedure<typeof RerollKeyRequestSchema, typeof RerollKeyResponseSchema> =>
  async ({ keyId, expiration }, call) => {
    const original = await findKey(deps, keyId, call);
    const recoverable = original.encrypted !== undefined;
    requirePermissions(
      call.caller,
      ["api.create_key", original.apiId],
      ...(recoverable ? [["api.encrypt_key", original.apiId] as const] : []),
    );
    const keyRing = recoverable ? requireKeyRing(deps) : undefined;
    const now = call.receivedAt;
    const source = auditSource(call);
    const { apiId, name, meta, identityId, enabled, expires, expiresInclusive, permissionIds, roleIds } = original;
    // With what is due: the copy starts with it, instead of being refilled for a time before it was made.
    const { remaining, refill, refilledAt } = withDueRefills(original, now);

    const delay = expiration?.kind.case === "value" ? Number(expiration.kind.value) : undefined;
    const form = { byteLength: original.byteLength ?? 16, prefix: prefixOf(original) };
    let isClaimed = false;
    const reroll = async (next: NewKey) => {
      const copy = { id: next.keyId, exists: async () => (await deps.keys.findPresent([next.keyId], call)).size > 0 };
      isClaimed ||= await claimRevision(deps.keys.modify, original, copy, call);
      if (!isClaimed) throw keyNotFound(keyId);
      const until = oldExpiry(delay, original.expires, now);
      const changes = changesOfKey(original, { ...original, ...(until === undefined ? {} : { expires: until }) });
      const event = auditEvent(
        source,
        "key.reroll",
        `Rerolled key ${keyId} to ${next.keyId}`,
        resource("key", next.keyId, name),
        resource("key", keyId, name),
        resource("api", apiId),
      );
      const document = {
        ...newDocument(next.keyId, now, [{ ...event, ...(changes.length === 0 ? {} : { changes }) }]),
        ...storeSecret(next, form, keyRing),
        apiId,
        ...storeName(name),
        ...(meta === undefined ? {} : { meta }),
        ...(identityId === undefined ? {} : { identityId }),
        ...(expires === undefined ? {} : { expires }),
        ...(expiresInclusive === undefined ? {} : { expiresInclusive }),
        ...(remaining === undefined ? {} : { remaining }),
        ...(refill === undefined ? {} : { refill }),
        ...(refilledAt === undefined ? {} : { refilledAt }),
        enabled,
        permissionIds,
        roleIds,
        ratelimits: original.ratelimits.map((limit) => ({ ...limit, id: createId("rl", now) })),
        revision: 0,
      };
      await insertOnce(call, deps.keys.insert(document, call));
      // The new key stands before the old one runs out: a crash between leaves two keys that work, never none. An old key
      // that is deleted by now was rerolled before that: the new one exists and must not be lost.
      await deps.keys.modify(
        keyId,
        (key) => {
          const end = oldExpiry(delay, key.expires, now);
          const expiry = end === undefined ? {} : { expires: end };
          const inclusive = delay === 0 ? { expiresInclusive: true } : {};
          return { update: { $set: { updatedAt: Math.max(key.updatedAt ?? 0, now), ...expiry, ...inclusive } }, events: [] };
        },
        // Not under the call's deadline: the new key exists, and the old one has to run out.
        {},
      );
      return { data: showNewKey(next) };
    };
    return changeSeveral(call, () => issueKey(form, call, reroll));
  };
