import type { RemovePermissionsRequestSchema, RemovePermissionsResponseSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import type { Procedure } from "../shared/call.ts";
import { type ChangePermissionsDeps, changePermissions } from "../shared/keys/changePermissions.ts";

/** Removes direct permissions from a key; those of its roles stay (permissions §11). */
export const removePermissions =
  (deps: ChangePermissionsDeps): Procedure<typeof RemovePermissionsRequestSchema, typeof RemovePermissionsResponseSchema> =>
  ({ keyId, permissions }, call) =>
    changePermissions(deps, "remove", { keyId, items: permissions }, call);
