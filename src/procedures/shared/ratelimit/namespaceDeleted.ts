import { type AuditSource, auditEvent, resource } from "../../../audit/auditEvent.ts";
import type { AuditEvent } from "../../../storage/port/auditEvents.ts";
import type { NamespaceDocument } from "../../../storage/port/documents.ts";

/** The event of deleting a namespace. The command line and `ratelimit.deleteNamespace` use it. */
export const namespaceDeleted = (source: AuditSource, { _id, name }: NamespaceDocument): AuditEvent =>
  auditEvent(source, "ratelimitNamespace.delete", `Deleted namespace ${name}`, resource("ratelimitNamespace", _id, name));
