import { ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { requireSight } from "../../data/access/unseen.ts";
import { call } from "../../data/calls/call.ts";
import type { FoundObject } from "../../router/route.ts";

/** APIs whose name or id contains the text, for the palette. */
export const search = async (text: string, signal: AbortSignal): Promise<readonly FoundObject[]> => {
  requireSight(ApisService.method.listApis);
  const { message } = await call(ApisService.method.listApis, { search: text, limit: 5n }, { signal });
  return message.data.map(({ id, name }) => ({ label: name, detail: id, href: `/ui/apis/${encodeURIComponent(id)}` }));
};
