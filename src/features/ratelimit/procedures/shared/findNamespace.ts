import { type Action, requirePermissions } from "../../../../platform/authorization/authorization.ts";
import { ServiceError } from "../../../../platform/base/errors.ts";
import type { NamespaceDocument } from "../../../../platform/storage/port/documents.ts";
import type { Call } from "../../../calls/call.ts";
import type { NamespacesRepository } from "../../namespacesRepository.ts";
import type { OverridesRepository } from "../../overridesRepository.ts";

export interface OverrideDeps {
  readonly namespaces: NamespacesRepository;
  readonly overrides: OverridesRepository;
}

/** The same for a namespace that was deleted and one that never existed. */
export const namespaceNotFound = (idOrName: string): ServiceError =>
  new ServiceError("ratelimit_namespace_not_found", `The namespace ${idOrName} does not exist.`);

/**
 * The live namespace of this id or name: 404 `ratelimit_namespace_not_found`, then 403 unless the caller holds the
 * action for it. Nothing about its overrides has been looked at by then (ratelimit §2, §9).
 */
export const findNamespace = async (
  { namespaces }: Pick<OverrideDeps, "namespaces">,
  idOrName: string,
  action: Action,
  call: Call,
): Promise<NamespaceDocument> => {
  const namespace = await namespaces.find(idOrName, call);
  if (namespace === null || namespace.deletedAt !== undefined) throw namespaceNotFound(idOrName);
  requirePermissions(call.caller, [action, namespace._id]);
  return namespace;
};

export const overrideNotFound = (identifier: string): ServiceError =>
  new ServiceError("ratelimit_override_not_found", `The namespace has no override for exactly ${identifier}.`);
