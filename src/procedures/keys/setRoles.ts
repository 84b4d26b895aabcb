import type { SetRolesRequestSchema, SetRolesResponseSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import type { Procedure } from "../shared/call.ts";
import { type ChangeRolesDeps, changeRoles } from "../shared/keys/changeRoles.ts";

/** Replaces the roles of a key (permissions §11). */
export const setRoles =
  (deps: ChangeRolesDeps): Procedure<typeof SetRolesRequestSchema, typeof SetRolesResponseSchema> =>
  ({ keyId, roles }, call) =>
    changeRoles(deps, "set", { keyId, names: roles?.values ?? [] }, call);
