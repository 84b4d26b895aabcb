import { allPermissions } from "../../../authorization/authorization.ts";
import type { AuditedCollection } from "../../port/auditedCollections.ts";
import type { AuditedDocument } from "../../port/baseDocument.ts";
import type { Documents, IdentityDocument, PermissionDocument, RoleDocument, StoredRatelimit, StoredRefill } from "../../port/documents.ts";

/** Objects whose ids others hold, and the field by which people know them. */
export interface Named {
  readonly permissions: PermissionDocument["slug"];
  readonly roles: RoleDocument["name"];
  readonly identities: NonNullable<IdentityDocument["externalId"]>;
}

/** How events tell that a stored field changed; undefined = they do not, it is no part of what a caller sees or sets. */
export type Telling =
  /** `isSpent`: changes by more than the changes that a revision counts, so that a write may find another value than was read. */
  | { readonly as: string; readonly textOf: (value: unknown) => string | undefined; readonly isSpent?: true }
  /** Ids, told by the names of what they stand for. */
  | { readonly as: string; readonly namesOf: keyof Named }
  /** A secret, or something made of one: only that it changed. */
  | { readonly as: string; readonly redacted: true };

type TellingOf<D> = { readonly [K in keyof Omit<D, keyof AuditedDocument | "revision">]-?: Telling | undefined };

const plainText = (value: unknown): string | undefined => (value === undefined ? undefined : JSON.stringify(value));
const value = (as: string, textOf: (value: unknown) => string | undefined = plainText): Telling => ({ as, textOf });
const names = (as: string, namesOf: keyof Named): Telling => ({ as, namesOf });
const redacted = (as: string): Telling => ({ as, redacted: true });

/** Stored as JSON text; an empty object is shown as none. */
const metaText = (text: unknown): string | undefined => (text === "{}" ? undefined : (text as string | undefined));
/** Stored only when it is so. */
const flagText = (flag: unknown): string => String(flag === true);
/** A root key without a list holds every permission. */
const rootPermissionsText = (permissions: unknown): string => JSON.stringify(permissions ?? allPermissions);
// Stores may keep the members in an order of their own.
const refillText = (refill: unknown): string | undefined => {
  if (refill === undefined) return undefined;
  const { interval, amount, refillDay } = refill as StoredRefill;
  return JSON.stringify({ interval, amount, refillDay });
};
const ratelimitsText = (limits: unknown): string =>
  JSON.stringify(
    ((limits ?? []) as readonly StoredRatelimit[]).map(({ id, name, limit, duration, autoApply }) => ({
      id,
      name,
      limit,
      duration,
      autoApply,
    })),
  );

/** A limit of an identity has events of its own. */
export const toldOfRatelimits: TellingOf<StoredRatelimit> = {
  id: undefined,
  name: value("name"),
  limit: value("limit"),
  duration: value("duration"),
  autoApply: value("autoApply"),
};

/**
 * What events tell of a change: every stored field, with the name that the contract gives it (management §4). A field that is
 * not in the table does not compile.
 */
export const toldFields: { readonly [C in AuditedCollection]: TellingOf<Documents[C]> } = {
  apis: {
    name: value("name"),
    protected: value("deleteProtection", flagText),
    ipAllowlist: value("ipAllowlist"),
  },
  keys: {
    apiId: value("apiId"),
    hash: redacted("hash"),
    importedHash: undefined,
    pendingMigrationId: value("migrationId"),
    encrypted: redacted("plaintext"),
    // Its first characters are the secret's.
    start: redacted("start"),
    lastFour: undefined,
    prefix: value("prefix"),
    byteLength: value("byteLength"),
    name: value("name"),
    nameKey: undefined,
    identityId: names("externalId", "identities"),
    meta: value("meta", metaText),
    expires: value("expires"),
    expiresInclusive: undefined,
    enabled: value("enabled"),
    remaining: { as: "credits.remaining", textOf: plainText, isSpent: true },
    refill: value("credits.refill", refillText),
    refilledAt: undefined,
    permissionIds: names("permissions", "permissions"),
    roleIds: names("roles", "roles"),
    ratelimits: value("ratelimits", ratelimitsText),
    lastUsedAt: undefined,
    copyId: undefined,
    quietRevisions: undefined,
  },
  identities: {
    externalId: value("externalId"),
    externalKey: undefined,
    search: undefined,
    meta: value("meta", metaText),
    ratelimits: value("ratelimits", ratelimitsText),
  },
  permissions: {
    name: value("name"),
    slug: value("slug"),
    slugKey: undefined,
    description: value("description"),
    search: undefined,
  },
  roles: {
    name: value("name"),
    nameKey: undefined,
    description: value("description"),
    search: undefined,
    permissionIds: names("permissions", "permissions"),
    quietRevisions: undefined,
  },
  rootKeys: {
    hash: redacted("hash"),
    start: redacted("start"),
    end: redacted("end"),
    name: value("name"),
    permissions: value("permissions", rootPermissionsText),
    enabled: value("enabled"),
    expires: value("expires"),
    expiresInclusive: undefined,
    lastUsedAt: undefined,
    usedPermissions: undefined,
    usesRevision: undefined,
    copyId: undefined,
    sessionsEnded: undefined,
  },
  namespaces: { name: value("name") },
  overrides: {
    namespaceId: value("namespaceId"),
    identifier: value("identifier"),
    limit: value("limit"),
    duration: value("duration"),
  },
  migrations: { algorithm: value("algorithm"), name: value("name") },
  // Their events are of what somebody did, not of what changed in the document.
  sessions: {
    hash: undefined,
    rootKeyId: undefined,
    person: undefined,
    opening: undefined,
    address: undefined,
    userAgent: undefined,
    lastUsedAt: undefined,
    expiresAt: undefined,
    elevatedUntil: undefined,
    expireAt: undefined,
  },
  failedSignIns: { failures: undefined, toldAt: undefined, expireAt: undefined },
};
