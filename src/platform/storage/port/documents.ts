/** The documents as they are stored. An absent value is an absent field, never null. Times are Unix milliseconds. */

import type { Permission } from "../../authorization/authorization.ts";
import type { HandOut } from "../../base/handOut.ts";
import type { AuditErasure, AuditEvent } from "./auditEvents.ts";
import type { AuditedCollection } from "./auditedCollections.ts";
import type { AuditedDocument, BaseDocument } from "./baseDocument.ts";
import type { FailedSignInsDocument, SessionDocument } from "./consoleDocuments.ts";
import type { LeaseDocument, NodeDocument, SweepDocument, SystemDocument } from "./internalDocuments.ts";

export interface StoredRatelimit {
  readonly id: string;
  readonly name: string;
  readonly limit: number;
  readonly duration: number;
  readonly autoApply: boolean;
}

export interface StoredRefill {
  readonly interval: "daily" | "monthly";
  readonly amount: number;
  readonly refillDay?: number;
}

export interface ApiDocument extends AuditedDocument {
  readonly name: string;
  /** Cannot be deleted until this is lifted; absent = can. */
  readonly protected?: boolean;
  /** Addresses and networks that may verify its keys; absent = any. */
  readonly ipAllowlist?: readonly string[];
  /** Absent before the first change. */
  readonly revision?: number;
}

/** A text encrypted with one of the configured keys. */
export interface EncryptedText {
  /** Which of them. */
  readonly keyId: string;
  /** Base64 of nonce, ciphertext and authentication tag. */
  readonly ciphertext: string;
}

export interface KeyDocument extends AuditedDocument {
  readonly apiId: string;
  /** Base64 SHA-256 of the key, or what another system computed while `pendingMigrationId` stands; absent once erased. */
  readonly hash?: string;
  /** The migration it was imported with, until the first verification replaces its hash. */
  readonly pendingMigrationId?: string;
  /** What another system computed, once `hash` is our own: it stays taken, so that no second import makes another key of it. */
  readonly importedHash?: string;
  /** The key itself, if it is recoverable. */
  readonly encrypted?: EncryptedText;
  readonly start: string;
  readonly prefix?: string;
  readonly byteLength?: number;
  readonly name?: string;
  /** How the name is found; see `nameKeyOf`. Keys of earlier versions get it with their next update, or by the backfill. */
  readonly nameKey?: string;
  /** The last four characters of the secret; absent where the secret was never known, and in keys of earlier versions. */
  readonly lastFour?: string;
  readonly identityId?: string;
  /** JSON text of an object. */
  readonly meta?: string;
  readonly expires?: number;
  /** Expired at `expires` already, not only after it: the key was rerolled away. */
  readonly expiresInclusive?: boolean;
  readonly enabled: boolean;
  /** Credit balance; absent = unlimited. */
  readonly remaining?: number;
  readonly refill?: StoredRefill;
  /** The last refill instant that `remaining` contains; present exactly when `refill` is. */
  readonly refilledAt?: number;
  readonly permissionIds: readonly string[];
  readonly roleIds: readonly string[];
  readonly ratelimits: readonly StoredRatelimit[];
  readonly lastUsedAt?: number;
  /** Counts configuration changes; guards read-modify-write updates. Spending credits does not move it. */
  readonly revision: number;
  /** Of `revision`: refills and sweeps, which nobody asked for; see `RevisedObject`. */
  readonly quietRevisions?: number;
  /** The key that a reroll was about to make of it last, if that asked for its revision; see `claimRevision`. */
  readonly copyId?: string;
}

export interface IdentityDocument extends AuditedDocument {
  /** Absent once deleted, so that it can be taken again. */
  readonly externalId?: string;
  /** The externalId without letter case; absent once deleted. Those of earlier versions get it with their next update, or by the backfill. */
  readonly externalKey?: string;
  /** Id and externalId, to be searched; see `searchText`. */
  readonly search?: string;
  readonly meta?: string;
  readonly ratelimits: readonly StoredRatelimit[];
  readonly revision: number;
}

export interface PermissionDocument extends AuditedDocument {
  readonly name: string;
  readonly slug: string;
  /** Lower-cased slug: unique; absent once deleted. */
  readonly slugKey?: string;
  readonly description?: string;
  /** Id, name, slug and description, to be searched; see `searchText`. */
  readonly search?: string;
  readonly revision: number;
}

export interface RoleDocument extends AuditedDocument {
  readonly name: string;
  /** Lower-cased name: unique; absent once deleted. */
  readonly nameKey?: string;
  readonly description?: string;
  /** Id, name and description, to be searched; see `searchText`. */
  readonly search?: string;
  readonly permissionIds: readonly string[];
  readonly revision: number;
  /** Of `revision`: sweeps, which nobody asked for; see `RevisedObject`. */
  readonly quietRevisions?: number;
}

export interface RootKeyDocument extends AuditedDocument {
  /** Base64 SHA-256 of the root key; absent once deleted. */
  readonly hash?: string;
  readonly start: string;
  readonly end: string;
  readonly name?: string;
  /** Absent = every permission, also those of later versions. Spelled with the type `api`, sorted, distinct. */
  readonly permissions?: readonly string[];
  readonly enabled: boolean;
  readonly expires?: number;
  /** Expired at `expires` already, not only after it: the root key was rerolled away. */
  readonly expiresInclusive?: boolean;
  readonly lastUsedAt?: number;
  /** Sorted by permission; see `noteUses`. */
  readonly usedPermissions?: readonly { readonly permission: string; readonly lastUsedAt: number }[];
  /** Counts writes of `usedPermissions`, which move no `revision`: they change nothing that anybody configured. */
  readonly usesRevision?: number;
  /** Absent before the first change. */
  readonly revision?: number;
  /** The root key that a reroll was about to make of it last, if that asked for its revision; see `claimRevision`. */
  readonly copyId?: string;
  /** How often it stopped being able to sign in to the console, or began again: its sessions from before have ended (console §2.3). */
  readonly sessionsEnded?: number;
}

export interface NamespaceDocument extends AuditedDocument {
  readonly name: string;
}

export interface OverrideDocument extends AuditedDocument {
  readonly namespaceId: string;
  /** Literal or pattern; absent once deleted, so that it can be set again. */
  readonly identifier?: string;
  readonly limit: number;
  readonly duration: number;
  /** Absent before the first change. */
  readonly revision?: number;
}

/** A sliding-window counter (ratelimit §3). `_id` is the counter's key. */
export interface CounterDocument extends BaseDocument {
  /** Number of the window that `current` counts; `previous` counts the one before it. */
  readonly seq: number;
  readonly current: number;
  readonly previous: number;
  readonly expireAt: Date;
}

/** Import of keys that another system hashed (keys §7). */
export interface MigrationDocument extends AuditedDocument {
  readonly algorithm: "sha256" | "github.com/seamapi/prefixed-api-key";
  readonly name?: string;
}

/** One batch of ids whose objects changed; nodes poll these to drop what they cache. */
export interface AnnouncementDocument extends BaseDocument {
  readonly node: string;
  readonly ids: readonly string[];
  readonly expireAt: Date;
}

/**
 * One use of an Idempotency-Key (protocol §2), made before its call's first write. `_id` is the hex SHA-256 of root key
 * and key.
 */
export interface IdempotencyDocument extends BaseDocument {
  /** Hex SHA-256 of the procedure and its decoded request. */
  readonly request: string;
  /** Base64 of the 32 random bytes that ids, secrets and the key of `answer` are derived with. */
  readonly salt: string;
  /** Arrival of the first call, Unix ms: the time that every run of the call decides by. */
  readonly now: number;
  /** Which run holds it, until `leaseUntil` (Unix ms) unless the run extends that. */
  readonly holder: string;
  readonly leaseUntil: number;
  /** What the caller had to be permitted; asked for again before a replay. */
  readonly permissions: readonly Permission[];
  /** What it handed out to a root key; judged again before a replay. */
  readonly handedOut?: HandOut;
  /** Where the event of the change is found once it is written. */
  readonly changeIn?: { readonly collection: AuditedCollection; readonly id: string; readonly tag?: string };
  /** JSON text of the answer, encrypted if it may hold a secret; kept beforehand where the change cannot influence it. */
  readonly answer?: string;
  /** `answer` was given. */
  readonly done?: boolean;
  readonly expireAt: Date;
}

export interface AuditLogDocument extends BaseDocument {
  /** 1, 2, 3, … without a gap. */
  readonly sequence: number;
  readonly event: AuditEvent;
  /** Which form was hashed; absent = the first, which knows no `changes`. See `chainHash`. */
  readonly format?: number;
  /** Of the third form, until its texts are erased; see `textsDigest`. */
  readonly salt?: string;
  /** Its texts were erased: the event has no description, no names of resources and no changes. */
  readonly erasure?: AuditErasure;
  /** Hex SHA-256 over the predecessor's hash and this event. */
  readonly hash: string;
  readonly previousHash: string;
  /** When it was added, Unix ms; entries of earlier versions do not say. The hash does not cover it: it is of the entry, not of the event. */
  readonly insertedAt?: number;
}

/** Which entries of one block of the audit log have one thing in common, or when they happened; see `auditIndex.ts`. */
export interface AuditIndexDocument extends BaseDocument {
  readonly offsets?: readonly number[];
  readonly from?: number;
  readonly to?: number;
}

export interface Documents {
  readonly apis: ApiDocument;
  readonly keys: KeyDocument;
  readonly identities: IdentityDocument;
  readonly permissions: PermissionDocument;
  readonly roles: RoleDocument;
  readonly rootKeys: RootKeyDocument;
  readonly namespaces: NamespaceDocument;
  readonly overrides: OverrideDocument;
  readonly migrations: MigrationDocument;
  readonly sessions: SessionDocument;
  readonly failedSignIns: FailedSignInsDocument;
  readonly counters: CounterDocument;
  readonly changes: AnnouncementDocument;
  readonly idempotency: IdempotencyDocument;
  readonly audit: AuditLogDocument;
  readonly auditIndex: AuditIndexDocument;
  readonly leases: LeaseDocument;
  readonly sweeps: SweepDocument;
  readonly nodes: NodeDocument;
  readonly system: SystemDocument;
}

export type CollectionName = keyof Documents;
