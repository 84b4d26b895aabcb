import { type AuditSource, actorOf } from "../audit/auditEvent.ts";
import type { Call } from "./call.ts";

/** The caller, as the actor of its audit events (protocol §11). */
export const auditSource = ({ caller, correlationId, receivedAt, remoteIp, userAgent }: Call): AuditSource => ({
  actor: actorOf(caller),
  correlationId,
  now: receivedAt,
  remoteIp,
  userAgent,
});
