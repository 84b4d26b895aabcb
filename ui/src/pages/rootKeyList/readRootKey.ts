import { type RootKey, RootKeysService, type RootKeysServiceListKeysResponse } from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { type Answer, type CallOptions, call } from "../../data/calls/call.ts";
import { CallError } from "../../data/calls/callError.ts";

const { listKeys } = RootKeysService.method;

/** Reads one root key: no procedure reads a single one that is not the caller's own, so the list is gone through. @throws {CallError} */
export const readRootKey = async (keyId: string, options: CallOptions = {}): Promise<RootKey> => {
  let cursor: string | undefined = "";
  while (cursor !== undefined) {
    const answer: Answer<RootKeysServiceListKeysResponse> = await call(listKeys, { limit: 100n, cursor }, options);
    const found = answer.message.data.find((rootKey) => rootKey.keyId === keyId);
    if (found !== undefined) return found;
    cursor = answer.message.pagination?.cursor;
  }
  throw new CallError("notFound", `There is no root key ${keyId} that you may see.`, { title: "Not Found" });
};
