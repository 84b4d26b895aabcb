import { type AuditSource, auditEvent, resource } from "../../../audit/auditEvent.ts";
import type { AuditEvent } from "../../../storage/port/auditEvents.ts";
import type { NamespaceDocument } from "../../../storage/port/documents.ts";
import type { NamespacesRepository } from "../../../storage/repositories/namespacesRepository.ts";

type Removal = (
  namespaces: NamespacesRepository,
  namespace: NamespaceDocument,
  source: AuditSource,
  call?: { readonly mark: (events: readonly AuditEvent[]) => readonly AuditEvent[] } & Parameters<NamespacesRepository["delete"]>[3],
) => Promise<boolean>;

/**
 * Deletes a namespace, with its event `ratelimitNamespace.delete`: its checks answer 410 from then on, and its name stays
 * taken (ratelimit §4). False when it is deleted already. The command line and `ratelimit.deleteNamespace` use it.
 */
export const removeNamespace: Removal = (namespaces, { _id, name }, source, call) => {
  const target = resource("ratelimitNamespace", _id, name);
  const events = [auditEvent(source, "ratelimitNamespace.delete", `Deleted namespace ${name}`, target)];
  return namespaces.delete(_id, source.now, call?.mark(events) ?? events, call);
};
