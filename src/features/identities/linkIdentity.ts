import { createId } from "../../platform/base/ids.ts";
import type { IdentityDocument } from "../../platform/storage/port/documents.ts";
import { auditEvent, resource } from "../audit/auditEvent.ts";
import { auditSource } from "../calls/auditSource.ts";
import type { Call } from "../calls/call.ts";
import type { IdentitiesRepository } from "./identitiesRepository.ts";

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
