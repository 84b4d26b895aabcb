import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { requireSight } from "../../data/access/unseen.ts";
import { call } from "../../data/calls/call.ts";
import type { FoundObject } from "../../router/route.ts";

/** Keys by id, secret, start, end, name or external id, for the palette. */
export const search = async (text: string, signal: AbortSignal): Promise<readonly FoundObject[]> => {
  requireSight(KeysService.method.searchKeys);
  const { message } = await call(KeysService.method.searchKeys, { query: text, limit: 5n }, { signal });
  return message.data.map(({ keyId, name }) => ({ label: name ?? keyId, detail: keyId, href: `/ui/keys/${encodeURIComponent(keyId)}` }));
};
