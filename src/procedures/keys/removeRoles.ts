import type { RemoveRolesRequestSchema, RemoveRolesResponseSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import type { Procedure } from "../shared/call.ts";
import { type ChangeRolesDeps, changeRoles } from "../shared/keys/changeRoles.ts";

/** Takes roles from a key (permissions §11). */
export const removeRoles =
  (deps: ChangeRolesDeps): Procedure<typeof RemoveRolesRequestSchema, typeof RemoveRolesResponseSchema> =>
  ({ keyId, roles }, call) =>
    changeRoles(deps, "remove", { keyId, names: roles }, call);
