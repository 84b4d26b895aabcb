import type { MessageInitShape } from "@bufbuild/protobuf";
import { type ApiSchema, ListApisRequestSchema, type ListApisResponseSchema } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { permits } from "../../../platform/authorization/authorization.ts";
import type { ApiDocument } from "../../../platform/storage/port/documents.ts";
import type { Procedure } from "../../calls/call.ts";
import { readOwnPageRequest, showOwnPagination } from "../../calls/paging.ts";
import type { ApisRepository } from "../apisRepository.ts";

const LIST = "apis.listApis";

const showApi = (api: ApiDocument): MessageInitShape<typeof ApiSchema> => ({
  id: api._id,
  name: api.name,
  createdAt: BigInt(api.createdAt),
  ...(api.updatedAt === undefined ? {} : { updatedAt: BigInt(api.updatedAt) }),
  deleteProtection: api.protected ?? false,
  ...(api.ipAllowlist === undefined ? {} : { ipAllowlist: [...api.ipAllowlist] }),
});

/** Lists the APIs that the caller may read, newest first; none is an empty page (management §2). */
export const listApis =
  ({ apis }: { readonly apis: ApisRepository }): Procedure<typeof ListApisRequestSchema, typeof ListApisResponseSchema> =>
  async (request, call) => {
    const asked = readOwnPageRequest(LIST, ListApisRequestSchema, request);
    const scope = call.caller.grants.scope("api.read_api");
    const page = await apis.listPage(scope.all ? undefined : scope.ids, asked, call);
    for (const { _id } of page.items) permits(call.caller, "api.read_api", _id);
    return { data: page.items.map(showApi), pagination: showOwnPagination(LIST, asked, page) };
  };
