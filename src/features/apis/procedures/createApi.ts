import type { CreateApiRequestSchema, CreateApiResponseSchema } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { create } from "../../calls/mutations.ts";
import type { ApisRepository } from "../apisRepository.ts";

/** Creates an API. Names are labels: not unique, stored exactly as sent (apis: createApi). */
export const createApi =
  ({ apis }: { readonly apis: ApisRepository }): Procedure<typeof CreateApiRequestSchema, typeof CreateApiResponseSchema> =>
  async ({ name }, call) => {
    requirePermissions(call.caller, ["api.create_api", "*"]);
    const apiId = call.newId("api");
    const events = [auditEvent(auditSource(call), "api.create", `Created API ${apiId}`, resource("api", apiId, name))];
    return create(call, { collection: "apis", id: apiId, events, answer: { data: { apiId } } }, (marked) =>
      apis.insert({ id: apiId, name }, call.receivedAt, marked, call),
    );
  };
