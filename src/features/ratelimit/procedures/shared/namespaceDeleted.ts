import type { AuditEvent } from "../../../../platform/storage/port/auditEvents.ts";
import type { NamespaceDocument } from "../../../../platform/storage/port/documents.ts";
import { type AuditSource, auditEvent, resource } from "../../../audit/auditEvent.ts";

/** Makes the event of deleting a namespace, for the command line and `ratelimit.deleteNamespace`. */
export const namespaceDeleted = (source: AuditSource, { _id, name }: NamespaceDocument): AuditEvent =>
  auditEvent(source, "ratelimitNamespace.delete", `Deleted namespace ${name}`, resource("ratelimitNamespace", _id, name));
