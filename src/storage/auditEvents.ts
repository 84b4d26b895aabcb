export interface AuditResource {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
}

export interface AuditActor {
  readonly type: "rootkey" | "system";
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
}
