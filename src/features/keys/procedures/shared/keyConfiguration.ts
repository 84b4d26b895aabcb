import { type Refill, RefillInterval } from "../../../../../gen/latchkey/v2/common_pb.ts";
import {
  type CreateKeyCredits,
  type CreateKeyRequest,
  CreateKeyRequestSchema,
  type MigrateKey,
} from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { fieldDefault } from "../../../../platform/rpc/description/fieldDefault.ts";
import type { AuditEvent, AuditResource } from "../../../../platform/storage/port/auditEvents.ts";
import type {
  ApiDocument,
  KeyDocument,
  PermissionDocument,
  RoleDocument,
  StoredRefill,
} from "../../../../platform/storage/port/documents.ts";
import { newDocument } from "../../../../platform/storage/repositories/shared/audited.ts";
import { textOf } from "../../../../platform/util/jsonText.ts";
import { type AuditSource, auditEvent, resource } from "../../../audit/auditEvent.ts";
import { storeRatelimits } from "../../../calls/storedRatelimits.ts";
import { nameKeyOf } from "../../keySearchRepository.ts";

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
const storeCredits = (
  credits: CreateKeyCredits | undefined,
  now: number,
): Pick<KeyDocument, "remaining"> & Partial<Pick<KeyDocument, "refill" | "refilledAt">> => {
  const remaining = credits?.remaining?.kind;
  if (remaining?.case !== "value") return {};
  const refill = credits?.refill;
  return { remaining: Number(remaining.value), ...(refill ? { refill: storeRefill(refill), refilledAt: now } : {}) };
};

/** The fields of a request that describe a new key. */
type KeyFields = Pick<CreateKeyRequest | MigrateKey, "name" | "meta" | "expires" | "credits" | "enabled" | "ratelimits">;

/** The objects that a new key refers to. */
export interface Connections {
  readonly api: Pick<ApiDocument, "_id" | "name">;
  readonly identityId: string | undefined;
  readonly permissions: readonly PermissionDocument[];
  readonly roles: readonly RoleDocument[];
}

/** Makes the events of creating a key. */
export const keyCreated = (
  source: AuditSource,
  did: "Created" | "Imported",
  key: AuditResource,
  { api, permissions, roles }: Connections,
): AuditEvent[] => [
  auditEvent(source, "key.create", `${did} key ${key.id}`, key, resource("api", api._id, api.name)),
  ...connectionEvents(source, "connect", key, [...permissions, ...roles]),
];

/** Makes the document of a new key, without the fields of its secret. */
export const storeKey = (
  keyId: string,
  { name, meta, expires, credits, enabled, ratelimits }: KeyFields,
  { api, identityId, permissions, roles }: Connections,
  now: number,
  events: readonly AuditEvent[],
): Omit<KeyDocument, "start"> => ({
  ...newDocument(keyId, now, events),
  apiId: api._id,
  ...storeName(name),
  ...(meta === undefined ? {} : { meta: textOf(meta) }),
  ...(expires === undefined ? {} : { expires: Number(expires) }),
  ...(identityId === undefined ? {} : { identityId }),
  ...storeCredits(credits, now),
  enabled: enabled ?? fieldDefault(CreateKeyRequestSchema.field.enabled) === true,
  permissionIds: permissions.map(({ _id }) => _id),
  roleIds: roles.map(({ _id }) => _id),
  ratelimits: storeRatelimits(ratelimits, [], now),
  revision: 0,
});

/** A permission or a role, which a key can hold. */
export type Holdable = Pick<PermissionDocument, "_id" | "slug"> | Pick<RoleDocument, "_id" | "name">;

/** Makes one event per object that a key is connected with or disconnected from. */
export const connectionEvents = (
  source: AuditSource,
  connection: "connect" | "disconnect",
  key: AuditResource,
  objects: readonly Holdable[],
): AuditEvent[] =>
  objects.map((object) => {
    const [type, name] = "slug" in object ? (["permission", object.slug] as const) : (["role", object.name] as const);
    const text = `${connection === "connect" ? "Connected" : "Disconnected"} ${type} ${name} and key ${key.id}`;
    return auditEvent(source, `authorization.${connection}_${type}_and_key`, text, key, resource(type, object._id, name));
  });
