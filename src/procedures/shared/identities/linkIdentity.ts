import { auditEvent, resource } from "../../../audit/auditEvent.ts";
import { createId } from "../../../domain/ids.ts";
import type { IdentityDocument } from "../../../storage/port/documents.ts";
import type { IdentitiesRepository } from "../../../storage/repositories/identitiesRepository.ts";
import { auditSource } from "../auditSource.ts";
import type { Call } from "../call.ts";

/** The identity of this externalId, made if there is none. */
export const linkIdentity = (
  identities: Pick<IdentitiesRepository, "findOrCreate">,
  externalId: string,
  call: Call,
): Promise<IdentityDocument> => {
  const id = createId("id", call.receivedAt);
  const event = auditEvent(auditSource(call), "identity.create", `Created identity ${externalId}`, resource("identity", id, externalId));
  return identities.findOrCreate({ id, externalId }, call.receivedAt, [event], call);
};
