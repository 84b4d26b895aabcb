import type { CreateIdentityRequestSchema, CreateIdentityResponseSchema } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { ServiceError } from "../../../platform/base/errors.ts";
import { textOf } from "../../../platform/util/jsonText.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { create } from "../../calls/mutations.ts";
import { storeRatelimits } from "../../calls/storedRatelimits.ts";
import type { IdentitiesRepository } from "../identitiesRepository.ts";
import { ratelimitEvents } from "../ratelimitEvents.ts";

/** Creates an identity; its externalId is unique among live ones (identities: createIdentity). */
export const createIdentity =
  ({
    identities,
  }: {
    readonly identities: Pick<IdentitiesRepository, "insert">;
  }): Procedure<typeof CreateIdentityRequestSchema, typeof CreateIdentityResponseSchema> =>
  async ({ externalId, meta, ratelimits }, call) => {
    requirePermissions(call.caller, ["identity.create_identity", "*"]);
    const now = call.receivedAt;
    const id = call.newId("id");
    const stored = storeRatelimits(ratelimits, [], now);
    const source = auditSource(call);
    const target = resource("identity", id, externalId);
    const events = [
      auditEvent(source, "identity.create", `Created identity ${externalId}`, target),
      ...ratelimitEvents(source, target, [], stored),
    ];
    const identity = { id, externalId, ...(meta === undefined ? {} : { meta: textOf(meta) }), ratelimits: stored };
    const taken = () => new ServiceError("identity_already_exists", `An identity with the externalId ${externalId} already exists.`);
    return create(call, { collection: "identities", id, events, answer: { data: { identityId: id } }, taken }, (marked) =>
      identities.insert(identity, now, marked, call),
    );
  };
