/** What a process that serves this store told of itself at `lastSeenAt` (management §7). Times are Unix ms, the rest whole numbers. */
export interface NodeFacts {
  readonly version: string;
  readonly startedAt: number;
  readonly lastSeenAt: number;
  readonly host: string;
  readonly store: { readonly kind: string; readonly up: boolean; readonly latencyMs: number };
  readonly changesLagMs: number;
  readonly cacheEntries: number;
  readonly cacheBytes: number;
  readonly inFlight: number;
  readonly verificationsPerSecond: number;
  readonly limitsPerSecond: number;
  readonly eventLoopLagMs: number;
  /** The newest form of entries of the audit log that it knows; absent = the first. */
  readonly auditFormat?: number;
  readonly analytics: { readonly kind: string; readonly up: boolean; readonly dropped: number };
}
