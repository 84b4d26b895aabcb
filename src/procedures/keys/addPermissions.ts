import type { AddPermissionsRequestSchema, AddPermissionsResponseSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import type { Procedure } from "../shared/call.ts";
import { type ChangePermissionsDeps, changePermissions } from "../shared/keys/changePermissions.ts";

/** Adds direct permissions to a key and keeps the others; unknown ones are made (permissions §11). */
export const addPermissions =
  (deps: ChangePermissionsDeps): Procedure<typeof AddPermissionsRequestSchema, typeof AddPermissionsResponseSchema> =>
  ({ keyId, permissions }, call) =>
    changePermissions(deps, "add", { keyId, items: permissions }, call);
