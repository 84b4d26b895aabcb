import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ListNamespacesRequestSchema,
  type ListNamespacesResponseSchema,
  type NamespaceSchema,
} from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { permits } from "../../../platform/authorization/authorization.ts";
import type { NamespaceDocument } from "../../../platform/storage/port/documents.ts";
import type { Procedure } from "../../calls/call.ts";
import { readOwnPageRequest, showOwnPagination } from "../../calls/paging.ts";
import type { NamespacesRepository } from "../namespacesRepository.ts";

const LIST = "ratelimit.listNamespaces";

const showNamespace = ({ _id, name, createdAt, updatedAt }: NamespaceDocument): MessageInitShape<typeof NamespaceSchema> => ({
  id: _id,
  name,
  createdAt: BigInt(createdAt),
  ...(updatedAt === undefined ? {} : { updatedAt: BigInt(updatedAt) }),
});

/** Lists the live namespaces that the caller may read, newest first; none is an empty page (management §3). */
export const listNamespaces =
  ({
    namespaces,
  }: {
    readonly namespaces: NamespacesRepository;
  }): Procedure<typeof ListNamespacesRequestSchema, typeof ListNamespacesResponseSchema> =>
  async (request, call) => {
    const asked = readOwnPageRequest(LIST, ListNamespacesRequestSchema, { ...request, cursor: request.cursor ?? "" });
    const scope = call.caller.grants.scope("ratelimit.read_namespace");
    const page = await namespaces.listPage(scope.all ? undefined : scope.ids, asked, call);
    for (const { _id } of page.items) permits(call.caller, "ratelimit.read_namespace", _id);
    return { data: page.items.map(showNamespace), pagination: showOwnPagination(LIST, asked, page) };
  };
