import { auditedCollections } from "../../platform/storage/port/auditedCollections.ts";
import type { CollectionName } from "../../platform/storage/port/documents.ts";

/**
 * What a backup holds, in its order. Events leave the outboxes of objects for the audit log: where a store is read that goes on
 * meanwhile, they are then in both, which whoever moves them knows to tell apart, and never in neither. Left out is what only
 * running nodes need: announced changes, leases and the nodes' own rows.
 */
export const backedUp: readonly BackedUpCollection[] = [
  "system",
  ...auditedCollections,
  "counters",
  "idempotency",
  "sweeps",
  "audit",
  "auditIndex",
];

export type BackedUpCollection = Exclude<CollectionName, "changes" | "leases" | "nodes">;
