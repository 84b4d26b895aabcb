import { ListOverridesRequestSchema, type ListOverridesResponseSchema } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { Procedure } from "../shared/call.ts";
import { readPageRequest, showPagination } from "../shared/paging.ts";
import { findNamespace, type OverrideDeps } from "../shared/ratelimit/findNamespace.ts";
import { showOverride } from "./getOverride.ts";

/** Lists the overrides of a namespace, ascending by id (ratelimit §10). */
export const listOverrides =
  (deps: OverrideDeps): Procedure<typeof ListOverridesRequestSchema, typeof ListOverridesResponseSchema> =>
  async (request, call) => {
    const { _id } = await findNamespace(deps, request.namespace, "ratelimit.read_override", call);
    const page = await deps.overrides.list(_id, readPageRequest(ListOverridesRequestSchema, request), call);
    return { data: page.items.map(showOverride), pagination: showPagination(page) };
  };
