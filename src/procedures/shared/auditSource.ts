import type { AuditSource } from "../../audit/auditEvent.ts";
import type { Call } from "./call.ts";

/** The root key that makes the call, as the actor of its audit events (protocol §11). */
export const auditSource = ({ caller, correlationId, receivedAt, remoteIp, userAgent }: Call): AuditSource => ({
  actor: { type: "rootkey", id: caller.rootKeyId, ...(caller.name === undefined ? {} : { name: caller.name }) },
  correlationId,
  now: receivedAt,
  remoteIp,
  userAgent,
});
