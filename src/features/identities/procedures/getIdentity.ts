import type { GetIdentityRequestSchema, GetIdentityResponseSchema } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { insufficientPermissions, permits } from "../../../platform/authorization/authorization.ts";
import type { Procedure } from "../../calls/call.ts";
import { type IdentityLookUp, identityNotFound, lookUpIdentity } from "../findIdentity.ts";
import { showIdentity } from "../identityObject.ts";

/**
 * Reads an identity. A caller who may read neither all nor the one that was found (or asked for by its id) gets the
 * same 403 whether or not it exists (identities: getIdentity).
 */
export const getIdentity =
  ({ identities }: { readonly identities: IdentityLookUp }): Procedure<typeof GetIdentityRequestSchema, typeof GetIdentityResponseSchema> =>
  async ({ identity }, call) => {
    const found = await lookUpIdentity(identities, identity, call);
    if (!permits(call.caller, "identity.read_identity", found?._id ?? identity)) {
      throw insufficientPermissions(call.caller, [["identity.read_identity", "*"]]);
    }
    if (found === null) throw identityNotFound(identity);
    call.showRevision(found);
    return { data: showIdentity(found) };
  };
