import type { DeleteNamespaceRequestSchema, DeleteNamespaceResponseSchema } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { NamespacesRepository } from "../../storage/repositories/namespacesRepository.ts";
import { auditSource } from "../shared/auditSource.ts";
import type { Procedure } from "../shared/call.ts";
import { findNamespace, namespaceNotFound } from "../shared/ratelimit/findNamespace.ts";
import { removeNamespace } from "../shared/ratelimit/removeNamespace.ts";

/** Deletes a namespace: its checks answer 410 from then on, and its name stays taken (management §3). 404, then 403. */
export const deleteNamespace =
  (deps: {
    readonly namespaces: NamespacesRepository;
  }): Procedure<typeof DeleteNamespaceRequestSchema, typeof DeleteNamespaceResponseSchema> =>
  async ({ namespace }, call) => {
    const found = await findNamespace(deps, namespace, "ratelimit.delete_namespace", call);
    const answer = { data: {} };
    await call.begin({ collection: "namespaces", id: found._id }, answer);
    if (!(await removeNamespace(deps.namespaces, found, auditSource(call), call))) throw namespaceNotFound(namespace);
    return answer;
  };
