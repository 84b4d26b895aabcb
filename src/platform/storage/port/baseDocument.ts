import type { AuditEvent, OutboxChanges } from "./auditEvents.ts";

/**
 * The newest schema that this version writes and understands. 2: the embedded store has `deletedAt` and `remaining` in columns, too.
 * 3: `start`, `nameKey` and `lastFour` of keys and `externalKey` of identities as well.
 */
export const SCHEMA_VERSION = 3;

/** One workspace today; part of every unique index so that more can come. */
export const WORKSPACE_ID = "ws_default";

export interface BaseDocument {
  readonly _id: string;
  /** Schema version the document was written with. */
  readonly v: number;
  readonly workspaceId: string;
}

/** A document that carries the events of its own changes until they reach the audit log. */
export interface AuditedDocument extends BaseDocument {
  readonly createdAt: number;
  readonly updatedAt?: number;
  readonly deletedAt?: number;
  readonly outbox?: readonly AuditEvent[];
  /** Of events in `outbox`. Those of events that an earlier version moved may stay here for a while. */
  readonly outboxChanges?: readonly OutboxChanges[];
  /** Changes with every push to `outbox`, absent when that is empty: finds the documents with pending events. */
  readonly pendingMark?: string;
  /** Deleted for good: the row itself goes as soon as its events have reached the audit log, and `sweepFrom` is no more. */
  readonly erased?: boolean;
  /** Time of the deletion, Unix ms, as long as others may still hold the id: the row stays until those have been swept. */
  readonly sweepFrom?: number;
}
