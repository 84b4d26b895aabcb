import type { Key } from "../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { call } from "../../data/calls/call.ts";
import { type Query, useLoad } from "../../data/hooks/useLoad.ts";
import { type PermissionSources, permissionQueries, sourcesOf } from "./permissionSources.ts";

/** Asks what gives the key its permissions: itself, or which role. */
export const useSources = ({ keyId, permissions, roles }: Key): Query<PermissionSources> =>
  useLoad(`sources ${keyId} ${permissions.join()} ${roles.join()}`, async (options) => {
    const answers = await Promise.all(
      permissionQueries(permissions).map((query) => call(KeysService.method.explain, { keyId, permissions: query }, options)),
    );
    return { message: sourcesOf(answers.flatMap(({ message }) => message.data ?? [])), etag: undefined };
  });
