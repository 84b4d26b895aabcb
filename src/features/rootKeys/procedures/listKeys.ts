import {
  RootKeysServiceListKeysRequestSchema,
  type RootKeysServiceListKeysResponseSchema,
} from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { permits } from "../../../platform/authorization/authorization.ts";
import type { Procedure } from "../../calls/call.ts";
import { readPageRequest, showPagination } from "../../calls/paging.ts";
import type { RootKeysDeps } from "../findRootKey.ts";
import { showRootKey } from "../rootKeyObject.ts";

/** Lists the root keys that the caller may read, ascending by id; none is an empty page (rootkeys §2). */
export const listKeys =
  ({ rootKeys }: RootKeysDeps): Procedure<typeof RootKeysServiceListKeysRequestSchema, typeof RootKeysServiceListKeysResponseSchema> =>
  async (request, call) => {
    const scope = call.caller.grants.scope("root_key.read_root_key");
    const page = await rootKeys.listPage(
      scope.all ? undefined : scope.ids,
      readPageRequest(RootKeysServiceListKeysRequestSchema, request),
      call,
    );
    for (const { _id } of page.items) permits(call.caller, "root_key.read_root_key", _id);
    return { data: page.items.map((rootKey) => showRootKey(rootKey, call.receivedAt)), pagination: showPagination(page) };
  };
