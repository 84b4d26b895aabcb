import { IdentitiesService } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { call } from "../../data/calls/call.ts";
import { identityPath } from "../../data/identityPath.ts";
import type { FoundObject } from "../../router/route.ts";

/** Identities whose id or externalId contains the text, for the palette. */
export const search = async (text: string, signal: AbortSignal): Promise<readonly FoundObject[]> => {
  const { message } = await call(IdentitiesService.method.listIdentities, { search: text, limit: 5n }, { signal });
  return message.data.map((identity) => ({ label: identity.externalId, detail: identity.id, href: identityPath(identity) }));
};
