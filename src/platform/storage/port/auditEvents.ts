export interface AuditResource {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
}

export interface AuditActor {
  /** `anonymous`: whoever failed to sign in to the console, by the address; `person`: by the `personId`. */
  readonly type: "rootkey" | "system" | "anonymous" | "person";
  readonly id: string;
  readonly name?: string;
}

/** Protocol §11. */
export interface AuditEvent {
  readonly id: string;
  readonly event: string;
  readonly time: number;
  readonly actor: AuditActor;
  readonly display: string;
  readonly remoteIp?: string;
  readonly userAgent?: string;
  readonly resources: readonly AuditResource[];
  readonly correlationId: string;
  /**
   * What the change changed, if it tells: one JSON text for each field, see `changeText`. In a document's outbox they stand beside
   * the event (`outboxChanges`), where versions that do not know them leave them alone.
   */
  readonly changes?: readonly string[];
}

/** What one event in an outbox tells of its change. */
export interface OutboxChanges {
  /** Of the event. */
  readonly id: string;
  readonly changes: readonly string[];
}

/** What is left of the entries of the audit log that were dropped: the log begins behind it. */
export interface AuditStub {
  /** Number of the last entry that was dropped; all up to it were. */
  readonly sequence: number;
  /** Its hash, on which the next entry follows. */
  readonly hash: string;
  /** Unix ms. */
  readonly droppedAt: number;
  /** Id of the event in the log that says the same. */
  readonly statement: string;
}

/** Of an entry of the audit log whose texts were erased. */
export interface AuditErasure {
  /** Id of the event in the log that says so. */
  readonly statement: string;
  /** What the entry's hash covers in the place of its texts. Absent in the forms whose hash covers the texts themselves. */
  readonly digest?: string;
}
