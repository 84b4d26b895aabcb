import { ListOverridesRequestSchema, type ListOverridesResponseSchema } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { Procedure } from "../../calls/call.ts";
import { readPageRequest, showPagination } from "../../calls/paging.ts";
import { showOverride } from "./getOverride.ts";
import { findNamespace, type OverrideDeps } from "./shared/findNamespace.ts";

/** Lists the overrides of a namespace, ascending by id (ratelimit §10). */
export const listOverrides =
  (deps: OverrideDeps): Procedure<typeof ListOverridesRequestSchema, typeof ListOverridesResponseSchema> =>
  async (request, call) => {
    const { _id } = await findNamespace(deps, request.namespace, "ratelimit.read_override", call);
    const page = await deps.overrides.list(_id, readPageRequest(ListOverridesRequestSchema, request), call);
    return { data: page.items.map(showOverride), pagination: showPagination(page) };
  };
