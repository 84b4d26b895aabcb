import { type Refill, RefillInterval } from "../../../../gen/latchkey/v2/common_pb.ts";
import type { CreateKeyCredits } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { type AuditSource, auditEvent, resource } from "../../../audit/auditEvent.ts";
import type { AuditEvent, AuditResource } from "../../../storage/port/auditEvents.ts";
import type { KeyDocument, PermissionDocument, RoleDocument, StoredRefill } from "../../../storage/port/documents.ts";
import { nameKeyOf } from "../../../storage/repositories/keySearchRepository.ts";

/** What createKey and updateKey share (keys §1.7): from request messages to stored values. */

/** A new key's name, and how it is found. */
export const storeName = (name: string | undefined): Pick<KeyDocument, "name" | "nameKey"> =>
  name === undefined ? {} : { name, nameKey: nameKeyOf(name) };

export const storeRefill = ({ interval, amount, refillDay }: Refill): StoredRefill => ({
  interval: interval === RefillInterval.MONTHLY ? "monthly" : "daily",
  amount: Number(amount),
  ...(refillDay === undefined ? {} : { refillDay: Number(refillDay) }),
});

/** The balance of a new key; a refill waits for the next scheduled instant. */
export const storeCredits = (
  credits: CreateKeyCredits | undefined,
  now: number,
): Pick<KeyDocument, "remaining"> & Partial<Pick<KeyDocument, "refill" | "refilledAt">> => {
  const remaining = credits?.remaining?.kind;
  if (remaining?.case !== "value") return {};
  const refill = credits?.refill;
  return { remaining: Number(remaining.value), ...(refill ? { refill: storeRefill(refill), refilledAt: now } : {}) };
};

type Connection = "connect" | "disconnect";

export const permissionEvents = (
  source: AuditSource,
  connection: Connection,
  key: AuditResource,
  permissions: readonly Pick<PermissionDocument, "_id" | "slug">[],
): AuditEvent[] =>
  permissions.map(({ _id, slug }) =>
    auditEvent(
      source,
      `authorization.${connection}_permission_and_key`,
      `${connection === "connect" ? "Connected" : "Disconnected"} permission ${slug} and key ${key.id}`,
      key,
      resource("permission", _id, slug),
    ),
  );

export const roleEvents = (
  source: AuditSource,
  connection: Connection,
  key: AuditResource,
  roles: readonly Pick<RoleDocument, "_id" | "name">[],
): AuditEvent[] =>
  roles.map(({ _id, name }) =>
    auditEvent(
      source,
      `authorization.${connection}_role_and_key`,
      `${connection === "connect" ? "Connected" : "Disconnected"} role ${name} and key ${key.id}`,
      key,
      resource("role", _id, name),
    ),
  );
