import type { GetApiRequestSchema, GetApiResponseSchema } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { Procedure } from "../../calls/call.ts";
import type { ApisRepository } from "../apisRepository.ts";
import { findApi } from "../findApi.ts";

/** Id and name of a live API; the permission is judged before the look-up (apis: getApi). */
export const getApi =
  ({ apis }: { readonly apis: ApisRepository }): Procedure<typeof GetApiRequestSchema, typeof GetApiResponseSchema> =>
  async ({ apiId }, call) => {
    requirePermissions(call.caller, ["api.read_api", apiId]);
    const api = await findApi(apis, apiId, call);
    call.showRevision(api);
    return { data: { id: api._id, name: api.name } };
  };
