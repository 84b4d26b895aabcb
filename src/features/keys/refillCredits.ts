import type { Behalf } from "../../platform/base/behalf.ts";
import { createId } from "../../platform/base/ids.ts";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import type { KeyDocument } from "../../platform/storage/port/documents.ts";
import { changesOfKey } from "../../platform/storage/repositories/shared/describeChanges.ts";
import { auditEvent, resource } from "../audit/auditEvent.ts";
import { balanceOf, type KeyModification, type KeysRepository } from "./keysRepository.ts";
import { bringInRefills, type Refilled } from "./refill.ts";

/** One event per application, by the service itself, with the old and the new balance (keys §1.9). */
const refillEvent = (key: KeyDocument, refilled: Refilled, now: number): AuditEvent => {
  const { _id, name, remaining } = key;
  const source = { actor: { type: "system", id: "system" }, correlationId: createId("cor", now), now } as const;
  const display = `Refilled key ${_id}: ${refilled.count} scheduled, balance ${remaining} to ${refilled.remaining}`;
  const changes = changesOfKey(key, { ...key, remaining: refilled.remaining });
  return { ...auditEvent(source, "key.update", display, resource("key", _id, name)), changes };
};

/** The write that brings in what is due at `now`; undefined when nothing is. */
export const refillChange = (key: KeyDocument, now: number): KeyModification | undefined => {
  const refilled = bringInRefills(key, now);
  if (refilled === undefined) return undefined;
  const { remaining, refilledAt } = refilled;
  return {
    update: { $set: { remaining, refilledAt, updatedAt: Math.max(key.updatedAt ?? 0, refilledAt) } },
    events: [refillEvent(key, refilled, now)],
    guard: balanceOf(key),
    quiet: true,
  };
};

/** Brings due refills into the stored balance, exactly once over any number of nodes: the old mark guards the write. */
export const refillCredits = async (keys: KeysRepository, keyId: string, now: number, behalf: Behalf): Promise<void> => {
  await keys.modify(keyId, (key) => refillChange(key, now), behalf);
};

/** The key as it is for readers at `now`, with what is due in its balance, without writing it. */
export const withDueRefills = (key: KeyDocument, now: number): KeyDocument => {
  const refilled = bringInRefills(key, now);
  if (refilled === undefined) return key;
  const { remaining, refilledAt } = refilled;
  return { ...key, remaining, refilledAt, updatedAt: Math.max(key.updatedAt ?? 0, refilledAt) };
};
