import type { AddRolesRequestSchema, AddRolesResponseSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import type { Procedure } from "../shared/call.ts";
import { type ChangeRolesDeps, changeRoles } from "../shared/keys/changeRoles.ts";

/** Gives a key further roles (permissions §11). */
export const addRoles =
  (deps: ChangeRolesDeps): Procedure<typeof AddRolesRequestSchema, typeof AddRolesResponseSchema> =>
  ({ keyId, roles }, call) =>
    changeRoles(deps, "add", { keyId, names: roles }, call);
