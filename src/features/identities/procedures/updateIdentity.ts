import type { UpdateIdentityRequestSchema, UpdateIdentityResponseSchema } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { IdentityDocument } from "../../../platform/storage/port/documents.ts";
import type { Modification } from "../../../platform/storage/repositories/shared/modify.ts";
import { foldCase } from "../../../platform/util/foldCase.ts";
import { textOf } from "../../../platform/util/jsonText.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { change } from "../../calls/mutations.ts";
import { storeRatelimits } from "../../calls/storedRatelimits.ts";
import { findIdentity, identityNotFound } from "../findIdentity.ts";
import type { IdentitiesRepository } from "../identitiesRepository.ts";
import { showIdentity } from "../identityObject.ts";
import { ratelimitEvents } from "../ratelimitEvents.ts";

/** Whether two states of an identity show the same; the order of limits counts. */
const isSame = (a: IdentityDocument, b: IdentityDocument): boolean =>
  (a.meta ?? "{}") === (b.meta ?? "{}") && JSON.stringify(a.ratelimits) === JSON.stringify(b.ratelimits);

/** Replaces what is given, `meta` and `ratelimits` each as a whole, and keeps the rest; writes nothing when nothing changes (identities: updateIdentity). */
export const updateIdentity =
  ({
    identities,
  }: {
    readonly identities: Pick<IdentitiesRepository, "find" | "findByExternalId" | "modify">;
  }): Procedure<typeof UpdateIdentityRequestSchema, typeof UpdateIdentityResponseSchema> =>
  async ({ identity, meta, ratelimits }, call) => {
    requirePermissions(call.caller, ["identity.update_identity", "*"]);
    const found = await findIdentity(identities, identity, call);
    const decide = (current: IdentityDocument): Modification<IdentityDocument> | undefined => {
      const now = call.receivedAt;
      const after = {
        ...current,
        ...(meta === undefined ? {} : { meta: textOf(meta) }),
        ...(ratelimits === undefined ? {} : { ratelimits: storeRatelimits(ratelimits.values, current.ratelimits, now) }),
      };
      if (isSame(current, after)) return undefined;
      const source = auditSource(call);
      const target = resource("identity", current._id, current.externalId);
      const events = [
        auditEvent(source, "identity.update", `Updated identity ${current.externalId}`, target),
        ...ratelimitEvents(source, target, current.ratelimits, after.ratelimits),
      ];
      const metaChange = after.meta === undefined ? {} : { meta: after.meta };
      // Also for an identity of an earlier version, which does not have it yet.
      const { externalId } = current;
      const searched = externalId === undefined ? {} : { externalKey: foldCase(externalId) };
      return { update: { $set: { updatedAt: now, ratelimits: after.ratelimits, ...metaChange, ...searched } }, events };
    };
    const answer = (after: IdentityDocument) => ({ data: showIdentity(after) });
    const { modify } = identities;
    return change(call, { collection: "identities", modify, found, gone: () => identityNotFound(identity), answer }, decide);
  };
