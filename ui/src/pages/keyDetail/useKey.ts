import { ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import type { Key } from "../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { call } from "../../data/calls/call.ts";
import { type Query, useLoad } from "../../data/hooks/useLoad.ts";

/** A key, and where it belongs as far as the session may know. */
export interface KnownKey {
  readonly stored: Key;
  readonly api: { readonly id: string; readonly name: string } | undefined;
}

/** Properties of a tab of the page. */
export interface KeyTabProps extends KnownKey {
  readonly etag: string | undefined;
  /** Reads key and ETag again. */
  readonly reload: () => void;
}

const { getKey, searchKeys } = KeysService.method;

/** Reads a key with its ETag. Its API is known to a search alone, and its name to those that may read it. */
export const useKey = (keyId: string): Query<KnownKey> =>
  useLoad(`key ${keyId}`, async (options) => {
    const { message, etag } = await call(getKey, { keyId }, options);
    if (message.data === undefined) throw new Error("getKey answers with a key");
    const found = await call(searchKeys, { query: keyId, limit: 1n }, options).catch(() => undefined);
    options.signal?.throwIfAborted();
    const id = found?.message.data.find((other) => other.keyId === keyId)?.apiId;
    const api = id === undefined ? undefined : await call(ApisService.method.getApi, { apiId: id }, options).catch(() => undefined);
    options.signal?.throwIfAborted();
    const known = id === undefined ? undefined : { id, name: api?.message.data?.name ?? id };
    return { message: { stored: message.data, api: known }, etag };
  });
