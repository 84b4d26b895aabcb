import type {
  RootKeysServiceRerollKeyRequestSchema,
  RootKeysServiceRerollKeyResponseSchema,
} from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { requireContained, requireNoLaterExpiry } from "../../../platform/authorization/containment.ts";
import { createRootKeySecret } from "../../../platform/secrets/rootKeySecret.ts";
import type { RootKeyDocument } from "../../../platform/storage/port/documents.ts";
import { newDocument } from "../../../platform/storage/repositories/shared/audited.ts";
import { changesOfRootKey } from "../../../platform/storage/repositories/shared/describeChanges.ts";
import type { Modification } from "../../../platform/storage/repositories/shared/modify.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import { insertOnce, type Procedure } from "../../calls/call.ts";
import { claimRevision } from "../../calls/claimRevision.ts";
import { changeSeveral } from "../../calls/mutations.ts";
import { findRootKey, type RootKeysDeps, rootKeyNotFound } from "../findRootKey.ts";

/** The latest time that an expiry can name, Unix ms (rootkeys §2). */
const LATEST_EXPIRY = 4_102_444_800_000;

/** Lets a root key expire at `until`, unless it expires earlier already. Inclusive: at that moment, not after it. */
const runOut =
  (until: number, inclusive: boolean, now: number) =>
  ({
    expires = Number.POSITIVE_INFINITY,
    expiresInclusive = false,
    updatedAt = 0,
  }: RootKeyDocument): Modification<RootKeyDocument> | undefined => {
    // Whoever else shortened it meanwhile meant it.
    if (expires < until || (expires === until && (expiresInclusive || !inclusive))) return undefined;
    const $set = { updatedAt: Math.max(updatedAt, now), expires: until, ...(inclusive ? { expiresInclusive: true } : {}) };
    return { update: { $set }, events: [] };
  };

/** Makes a new secret with the same powers, and lets the old one run out (rootkeys §2). */
export const rerollKey =
  (deps: RootKeysDeps): Procedure<typeof RootKeysServiceRerollKeyRequestSchema, typeof RootKeysServiceRerollKeyResponseSchema> =>
  async ({ keyId, expiration }, call) => {
    const delay = expiration?.kind.case === "value" ? Number(expiration.kind.value) : undefined;
    requirePermissions(
      call.caller,
      ["root_key.update_root_key", keyId],
      ...(delay === undefined ? [] : [["root_key.delete_root_key", keyId] as const]),
    );
    const old = await findRootKey(deps, keyId, call);
    requireContained(call.caller, old.permissions);
    requireNoLaterExpiry(call.caller, old.expires);

    const now = call.receivedAt;
    const newId = call.newId("rk");
    const { key, hash, start, end } = createRootKeySecret(call.drawBytes);
    const { name, enabled, permissions, expires, expiresInclusive } = old;
    const runsOut = delay === undefined ? undefined : runOut(Math.min(now + delay, LATEST_EXPIRY), delay === 0, now);
    const changes = changesOfRootKey(old, { ...old, ...runsOut?.(old)?.update.$set });
    const event = auditEvent(
      auditSource(call),
      "rootKey.reroll",
      `Rerolled root key ${keyId} to ${newId}`,
      resource("key", newId, name),
      resource("key", keyId, name),
    );
    // The new one stands before the old one runs out: a crash between leaves two that work, never none.
    const rootKey: RootKeyDocument = {
      ...newDocument(newId, now, [{ ...event, ...(changes.length === 0 ? {} : { changes }) }]),
      hash,
      start,
      end,
      enabled,
      ...(name === undefined ? {} : { name }),
      ...(permissions === undefined ? {} : { permissions }),
      ...(expires === undefined ? {} : { expires }),
      ...(expiresInclusive === undefined ? {} : { expiresInclusive }),
    };
    return changeSeveral(call, async () => {
      const copy = { id: newId, exists: async () => (await deps.rootKeys.find(newId, call)) !== null };
      if (!(await claimRevision(deps.rootKeys.modify, old, copy, call))) throw rootKeyNotFound(keyId);
      await insertOnce(call, deps.rootKeys.insert(rootKey, call));
      // Not under the call's deadline: the new one exists, and the old one has to run out, unless it is deleted by now.
      if (runsOut !== undefined) await deps.rootKeys.modify(keyId, runsOut, {});
      return { data: { keyId: newId, key: key.reveal() } };
    });
  };
