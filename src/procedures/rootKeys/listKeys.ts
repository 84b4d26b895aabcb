import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  RootKeySchema,
  RootKeysServiceListKeysRequestSchema,
  RootKeysServiceListKeysResponseSchema,
} from "../../../gen/latchkey/v2/root_keys_pb.ts";
import { allPermissions } from "../../domain/authorization.ts";
import type { RootKeyDocument } from "../../storage/documents.ts";
import type { Procedure } from "../call.ts";
import { readPageRequest, showPagination } from "../paging.ts";
import type { RootKeysDeps } from "./findRootKey.ts";

const showRootKey = (rootKey: RootKeyDocument): MessageInitShape<typeof RootKeySchema> => ({
  keyId: rootKey._id,
  name: { kind: rootKey.name === undefined ? { case: "null", value: 0 } : { case: "value", value: rootKey.name } },
  start: rootKey.start,
  end: rootKey.end,
  enabled: rootKey.enabled,
  createdAt: BigInt(rootKey.createdAt),
  lastUsedAt: BigInt(rootKey.lastUsedAt ?? 0),
  expires: { kind: rootKey.expires === undefined ? { case: "null", value: 0 } : { case: "value", value: BigInt(rootKey.expires) } },
  permissions: [...(rootKey.permissions ?? allPermissions)],
});

/** Lists the root keys that the caller may read, ascending by id; none is an empty page (rootkeys §2). */
export const listKeys =
  ({ rootKeys }: RootKeysDeps): Procedure<typeof RootKeysServiceListKeysRequestSchema, typeof RootKeysServiceListKeysResponseSchema> =>
  async (request, call) => {
    const scope = call.caller.grants.scope("root_key.read_root_key");
    const page = await rootKeys.listPage(scope.all ? undefined : scope.ids, readPageRequest(request), call);
    return { data: page.items.map(showRootKey), pagination: showPagination(page) };
  };
