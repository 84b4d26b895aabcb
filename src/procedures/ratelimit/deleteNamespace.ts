import type { DeleteNamespaceRequestSchema, DeleteNamespaceResponseSchema } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { NamespacesRepository } from "../../storage/namespaces.ts";
import { auditSource } from "../auditSource.ts";
import type { Procedure } from "../call.ts";
import { findNamespace, namespaceNotFound } from "./findNamespace.ts";
import { removeNamespace } from "./removeNamespace.ts";

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
