import { RatelimitService } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { requireSight } from "../../data/access/unseen.ts";
import { call } from "../../data/calls/call.ts";
import type { FoundObject } from "../../router/route.ts";

/** Namespaces whose name or id contains the text, for the palette. */
export const search = async (text: string, signal: AbortSignal): Promise<readonly FoundObject[]> => {
  requireSight(RatelimitService.method.listNamespaces);
  const { message } = await call(RatelimitService.method.listNamespaces, { search: text, limit: 5n }, { signal });
  return message.data.map(({ id, name }) => ({ label: name, detail: id, href: `/ui/limits/${encodeURIComponent(id)}` }));
};
