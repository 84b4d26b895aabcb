/** What the store keeps for its nodes and of itself. */

import type { AuditStub } from "./auditEvents.ts";
import type { BaseDocument } from "./baseDocument.ts";
import type { NodeFacts } from "./nodeFacts.ts";

export interface LeaseDocument extends BaseDocument {
  readonly holder: string;
  readonly expires: number;
}

/** How far the walk has come that takes the ids of deleted permissions and roles out of whatever holds them. */
export interface SweepDocument extends BaseDocument {
  readonly permissionIds: readonly string[];
  readonly roleIds: readonly string[];
  /** What is walked now; `rows`: the walk is done, the deleted objects' own rows go last. */
  readonly stage: "roles" | "keys" | "rows";
  /** Id of the last document that was looked at. */
  readonly after: string;
}

export interface NodeDocument extends BaseDocument, NodeFacts {
  readonly expireAt: Date;
}

/** How far the walk has come that gives documents of earlier versions the texts by which they are searched. */
export interface BackfillState {
  /** The first is 1. */
  readonly pass: number;
  readonly collection: "keys" | "identities";
  /** Id of the last document of it that was looked at. */
  readonly after: string;
  /** In this pass, of both collections. */
  readonly lookedAt: number;
  readonly filled: number;
  /** When the pass ended, Unix ms. */
  readonly endedAt?: number;
}

/** How far a backup has been written into the store. */
export interface RestoreState {
  /** Hex SHA-256 of what the backup holds. */
  readonly backup: string;
  /** Of the backup, in its order, that are in the store for certain. */
  readonly documents: number;
  /** The backup was made by an import, which removes it at the end. */
  readonly isImport?: true;
}

/** How far the erasure of a person has come (data §4). */
export interface ErasureState {
  /** The person's, by which the erasure is found again. */
  readonly externalId: string;
  /** Ids of the identities that had it, as far as they are known. */
  readonly identityIds: readonly string[];
  /** Number of the last entry of the audit log that was looked at. */
  readonly through: number;
  /** Number of the last entry whose externalId is the person's; absent until all that was told before the erasure is in the log. */
  readonly namedThrough?: number;
  /** Id of the last kept answer that was looked at; absent before the first. */
  readonly answersThrough?: string;
  /** What was found to be the person's so far: keys, entries of the audit log, events of analytics. */
  readonly keys: number;
  readonly entries: number;
  readonly events: number;
}

/** Facts about the store itself. */
export interface SystemDocument extends BaseDocument {
  /** Of `_id: "schema"`: the newest schema version that wrote to it, or none's while `restoring`; `v` is the one that made it. */
  readonly schema?: number;
  readonly backfill?: BackfillState;
  /** Of `_id: "schema"`: a restore into this store has begun and did not end yet. */
  readonly restoring?: RestoreState;
  /** Of `_id: "schema"`, with `restoring`: id of the attempt that writes. One that finds another's id here ends. */
  readonly restoringBy?: string;
  /** Of `_id: "schema"`: when a restore into this store ended, in milliseconds since 1970. */
  readonly restoredAt?: number;
  /** Of `_id: "auditStub"`. */
  readonly stub?: AuditStub;
  /** Of `_id: "erasure:…"`: it goes with the erasure's end. */
  readonly erasure?: ErasureState;
  /** The same number as in `stub`: it only rises. */
  readonly droppedThrough?: number;
}
