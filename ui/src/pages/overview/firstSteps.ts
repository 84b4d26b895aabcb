import { ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { unseenBy } from "../../data/access/unseen.ts";
import { type Answer, type CallOptions, call } from "../../data/calls/call.ts";

/** How far a new store has come on its way to the first verified key. */
export type FirstStep =
  | { readonly step: "api" }
  | { readonly step: "key"; readonly apiId: string; readonly apiName: string }
  | { readonly step: "verify"; readonly apiId: string; readonly apiName: string; readonly keyId: string; readonly keyName: string }
  | { readonly step: "done" };

const { listApis } = ApisService.method;
const { searchKeys } = KeysService.method;

/** The most keys that a person creates by hand before the first one is used: a store with more is not new. */
const few = 20n;

/** Reads it. A session that does not see all APIs and keys cannot tell, and has come all the way. */
export const readFirstStep = async (options: CallOptions): Promise<Answer<FirstStep>> => {
  const at = (message: FirstStep): Answer<FirstStep> => ({ message, etag: undefined });
  if ([listApis, searchKeys].some((method) => unseenBy(method).permissions.length > 0)) return at({ step: "done" });
  const apis = await call(listApis, { limit: 1n }, options);
  const [api] = apis.message.data;
  if (api === undefined) return at({ step: "api" });
  const { data: keys, pagination } = (await call(searchKeys, { limit: few }, options)).message;
  if (pagination?.hasMore === true || keys.some(({ lastUsedAt }) => lastUsedAt !== undefined)) return at({ step: "done" });
  const newest = keys.reduce((latest, key) => (latest === undefined || key.createdAt > latest.createdAt ? key : latest), keys[0]);
  if (newest === undefined) return at({ step: "key", apiId: api.id, apiName: api.name });
  const { keyId, name = keyId, apiId = "" } = newest;
  return at({ step: "verify", apiId, apiName: apiId === api.id ? api.name : apiId, keyId, keyName: name });
};
