import type { DeleteNamespaceRequestSchema, DeleteNamespaceResponseSchema } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { remove } from "../../calls/mutations.ts";
import type { NamespacesRepository } from "../namespacesRepository.ts";
import { findNamespace, namespaceNotFound } from "./shared/findNamespace.ts";
import { namespaceDeleted } from "./shared/namespaceDeleted.ts";

/** Deletes a namespace: its checks answer 410 from then on, and its name stays taken (management §3). 404, then 403. */
export const deleteNamespace =
  (deps: {
    readonly namespaces: NamespacesRepository;
  }): Procedure<typeof DeleteNamespaceRequestSchema, typeof DeleteNamespaceResponseSchema> =>
  async ({ namespace }, call) => {
    const found = await findNamespace(deps, namespace, "ratelimit.delete_namespace", call);
    const event = namespaceDeleted(auditSource(call), found);
    return remove(call, { collection: "namespaces", found, event, gone: () => namespaceNotFound(namespace) }, (events) =>
      deps.namespaces.delete(found._id, call.receivedAt, events, call),
    );
  };
