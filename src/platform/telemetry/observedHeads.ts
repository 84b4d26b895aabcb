import type { FamilyHead, Sample } from "./series.ts";

/** Gauges whose values are known elsewhere. */
export interface Observed {
  /** Says where a gauge has its values: `read` is asked for them whenever the page is made, and must not wait for anything. */
  readonly observe: (metric: ObservedMetric, read: () => readonly Sample[]) => void;
}

/** Gauges whose values are known elsewhere, and are asked for when the page is made (`Metrics.observe`). */
export const observedHeads = {
  clockOffset: {
    name: "latchkey_clock_offset_seconds",
    help: "How far the store's clock, which all nodes go by, is ahead of this machine's.",
    across: "max",
  },
  counterClockOffset: {
    name: "latchkey_counter_clock_offset_seconds",
    help: "How far the clock of the server of COUNTERS_URL, by which rate limits count, is ahead of this machine's.",
    across: "max",
  },
  feedLag: {
    name: "latchkey_changes_feed_lag_seconds",
    help: "Time since this node last heard what other nodes changed.",
    across: "max",
  },
  cacheBytes: {
    name: "latchkey_cache_bytes",
    help: "Memory of each cache, by the estimate that bounds it.",
    labels: ["cache"],
    across: "sum",
  },
  cacheEntries: { name: "latchkey_cache_entries", help: "Entries of each cache.", labels: ["cache"], across: "sum" },
  cacheLimit: { name: "latchkey_cache_limit_bytes", help: "CACHE_MB, of which each cache has a share.", across: "sum" },
  leases: {
    name: "latchkey_lease_held",
    help: "1 where this node does a job for all nodes: audit, sweep or backfill; at most one node has 1.",
    labels: ["lease"],
    across: "max",
  },
  certificateExpiry: {
    name: "latchkey_tls_certificate_expiry_timestamp_seconds",
    help: "When the certificate of a port expires, in Unix time; none without TLS.",
    labels: ["port"],
    across: "min",
  },
  reloadFailed: {
    name: "latchkey_file_reload_failed",
    help: "1 while watched files hold what cannot be used, by reason; what was read before is used.",
    labels: ["files", "reason"],
    across: "max",
  },
  storeFiles: {
    name: "latchkey_store_file_bytes",
    help: "Size of the embedded store's files: database, wal (its log), counters (of rate limits).",
    labels: ["file"],
    across: "max",
  },
  diskFree: {
    name: "latchkey_store_disk_free_bytes",
    help: "What the service may still write to the file system of DATA_DIR; of the embedded store only.",
    across: "min",
  },
  diskSize: {
    name: "latchkey_store_disk_size_bytes",
    help: "Size of the file system of DATA_DIR; of the embedded store only.",
    across: "max",
  },
  connections: {
    name: "latchkey_store_connections",
    help: "Connections to MongoDB: open, and of these in_use.",
    labels: ["state"],
    across: "sum",
  },
  connectionLimit: {
    name: "latchkey_store_connections_limit",
    help: "The most connections to MongoDB (maxPoolSize).",
    across: "sum",
  },
  outboxDocuments: {
    name: "latchkey_audit_outbox_documents",
    help: "Changed objects whose events are not in the audit log yet; no more than 1000 of each collection are counted.",
    across: "max",
  },
  outboxOldest: {
    name: "latchkey_audit_outbox_age_seconds",
    help: "Age of the oldest event that is not in the audit log yet, 0 when there is none.",
    across: "max",
  },
  auditHead: {
    name: "latchkey_audit_head_timestamp_seconds",
    help: "When the last entry of the audit log was appended, in Unix time; none in an empty log.",
    across: "max",
  },
  auditSequence: {
    name: "latchkey_audit_head_sequence",
    help: "Number of the last entry of the audit log.",
    across: "max",
  },
  sessions: {
    name: "latchkey_console_sessions",
    help: "Sessions of the console that nobody ended, until an hour after they ran out; no more than 1000 are counted.",
    across: "max",
  },
  rootKeysExpiring: {
    name: "latchkey_root_keys_expiring",
    help: "Enabled root keys that expire within the time, looked up every five minutes.",
    labels: ["within"],
    across: "max",
  },
  lookedAt: {
    name: "latchkey_store_observed_timestamp_seconds",
    help: "When sizes, connections, outbox, audit head, sessions and root keys were looked at last, in Unix time.",
    across: "min",
  },
} as const;

export type ObservedMetric = keyof typeof observedHeads;

/** As heads of families. */
export const observedFamilies: readonly FamilyHead[] = Object.values(observedHeads).map((head) => ({ ...head, type: "gauge" }));
