import type { SetPermissionsRequestSchema, SetPermissionsResponseSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import type { Procedure } from "../shared/call.ts";
import { type ChangePermissionsDeps, changePermissions } from "../shared/keys/changePermissions.ts";

/** Replaces the direct permissions of a key; unknown ones are made (permissions §11). */
export const setPermissions =
  (deps: ChangePermissionsDeps): Procedure<typeof SetPermissionsRequestSchema, typeof SetPermissionsResponseSchema> =>
  ({ keyId, permissions }, call) =>
    changePermissions(deps, "set", { keyId, items: permissions?.values ?? [] }, call);
