import { ListIdentitiesRequestSchema, type ListIdentitiesResponseSchema } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { allowsAny, insufficientPermissions, permits } from "../../../platform/authorization/authorization.ts";
import type { Procedure } from "../../calls/call.ts";
import { readPageRequest, showPagination } from "../../calls/paging.ts";
import type { IdentitiesRepository } from "../identitiesRepository.ts";
import { showIdentity } from "../identityObject.ts";

/** Lists identities, ascending by id; 403 when one of the page may not be read by the caller (identities: listIdentities). */
export const listIdentities =
  ({
    identities,
  }: {
    readonly identities: Pick<IdentitiesRepository, "list">;
  }): Procedure<typeof ListIdentitiesRequestSchema, typeof ListIdentitiesResponseSchema> =>
  async (request, call) => {
    const forbidden = () => insufficientPermissions(call.caller, [["identity.read_identity", "*"]]);
    if (!allowsAny(call.caller, "identity.read_identity")) throw forbidden();
    const page = await identities.list(readPageRequest(ListIdentitiesRequestSchema, request), call);
    if (!page.items.every(({ _id }) => permits(call.caller, "identity.read_identity", _id))) throw forbidden();
    if (page.items.length === 0) permits(call.caller, "identity.read_identity", "*");
    return { data: page.items.map(showIdentity), pagination: showPagination(page) };
  };
