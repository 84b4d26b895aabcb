import { PermissionsService } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { call } from "../../data/calls/call.ts";
import type { FoundObject } from "../../router/route.ts";

/** Roles whose name, id or description contains the text, for the palette. */
export const search = async (text: string, signal: AbortSignal): Promise<readonly FoundObject[]> => {
  const { message } = await call(PermissionsService.method.listRoles, { search: text, limit: 5n }, { signal });
  return message.data.map(({ id, name }) => ({ label: name, detail: id, href: `/ui/access?role=${encodeURIComponent(id)}` }));
};
