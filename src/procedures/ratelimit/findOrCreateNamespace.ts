import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { ServiceError } from "../../domain/errors.ts";
import { createId } from "../../domain/ids.ts";
import type { NamespaceCache } from "../../ratelimit/namespaceCache.ts";
import type { NamespaceDocument } from "../../storage/documents.ts";
import type { NamespacesRepository } from "../../storage/namespaces.ts";
import { auditSource } from "../auditSource.ts";
import type { Call } from "../call.ts";

export interface NamespaceDeps {
  readonly namespaces: NamespacesRepository;
  readonly namespaceCache: NamespaceCache;
}

/**
 * The namespace that a check names, made if there is none (ratelimit §4). 403 unless the caller may limit it and,
 * where it is missing, make it; then 410 `ratelimit_namespace_gone` for a deleted one.
 */
export const findOrCreateNamespace = async (
  { namespaces, namespaceCache }: NamespaceDeps,
  idOrName: string,
  call: Call,
): Promise<NamespaceDocument> => {
  const cached = namespaceCache.get(idOrName);
  const { value: namespace } = cached instanceof Promise ? await cached : cached;
  if (namespace !== null) {
    requirePermissions(call.caller, ["ratelimit.limit", namespace._id]);
    if (namespace.deletedAt !== undefined) {
      throw new ServiceError("ratelimit_namespace_gone", `The namespace ${idOrName} was deleted.`);
    }
    return namespace;
  }
  requirePermissions(call.caller, ["ratelimit.create_namespace", "*"], ["ratelimit.limit", "*"]);
  const id = createId("rlns", call.receivedAt);
  const event = auditEvent(
    auditSource(call),
    "ratelimitNamespace.create",
    `Created namespace ${idOrName}`,
    resource("ratelimitNamespace", id, idOrName),
  );
  return namespaces.findOrCreate({ id, name: idOrName }, call.receivedAt, [event], call);
};
