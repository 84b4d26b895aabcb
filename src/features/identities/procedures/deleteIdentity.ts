import type { DeleteIdentityRequestSchema, DeleteIdentityResponseSchema } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { IdentityDocument } from "../../../platform/storage/port/documents.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { change } from "../../calls/mutations.ts";
import { type EraseIdentityDeps, eraseIdentity } from "../eraseIdentity.ts";
import { findIdentity, identityNotFound } from "../findIdentity.ts";
import { deletionOfIdentity, type IdentitiesRepository } from "../identitiesRepository.ts";
import { ratelimitEvents } from "../ratelimitEvents.ts";

export interface DeleteIdentityDeps extends EraseIdentityDeps {
  readonly identities: EraseIdentityDeps["identities"] & Pick<IdentitiesRepository, "modify">;
}

/** Deletes an identity; its keys go on without it (identities: deleteIdentity). `erase`: and all that names the person (data §4). */
export const deleteIdentity =
  (deps: DeleteIdentityDeps): Procedure<typeof DeleteIdentityRequestSchema, typeof DeleteIdentityResponseSchema> =>
  async ({ identity, erase }, call) => {
    requirePermissions(call.caller, ["identity.delete_identity", "*"]);
    if (erase) return { data: { erasure: await eraseIdentity(deps, identity, call) } };
    const { modify } = deps.identities;
    const found = await findIdentity(deps.identities, identity, call);
    const source = auditSource(call);
    const decide = ({ _id, externalId, ratelimits }: IdentityDocument) => {
      const target = resource("identity", _id, externalId);
      const events = [
        auditEvent(source, "identity.delete", `Deleted identity ${externalId}`, target),
        ...ratelimitEvents(source, target, ratelimits, []),
      ];
      return { update: deletionOfIdentity(call.receivedAt), events };
    };
    const gone = () => identityNotFound(identity);
    return change(call, { collection: "identities", modify, found, gone, answer: { data: {} } }, decide);
  };
