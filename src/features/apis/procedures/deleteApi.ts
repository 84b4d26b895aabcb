import type { DeleteApiRequestSchema, DeleteApiResponseSchema } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { ServiceError } from "../../../platform/base/errors.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { remove } from "../../calls/mutations.ts";
import type { ApisRepository } from "../apisRepository.ts";
import { apiNotFound, findApi } from "../findApi.ts";

const apiProtected = (apiId: string): ServiceError =>
  new ServiceError("protected_resource", `The API ${apiId} is protected against deletion. Lift the protection first.`);

/** Deletes an API; its keys stop verifying at once, without being touched (apis: deleteApi). */
export const deleteApi =
  ({ apis }: { readonly apis: ApisRepository }): Procedure<typeof DeleteApiRequestSchema, typeof DeleteApiResponseSchema> =>
  async ({ apiId }, call) => {
    requirePermissions(call.caller, ["api.delete_api", apiId]);
    const api = await findApi(apis, apiId, call);
    if (api.protected) throw apiProtected(apiId);
    const event = auditEvent(auditSource(call), "api.delete", `Deleted API ${apiId}`, resource("api", apiId, api.name));
    // Deleted by another call, or protected meanwhile.
    const gone = async () => ((await apis.find(apiId, call)) === null ? apiNotFound(apiId) : apiProtected(apiId));
    return remove(call, { collection: "apis", found: api, event, gone }, (events) => apis.delete(apiId, call.receivedAt, events, call));
  };
