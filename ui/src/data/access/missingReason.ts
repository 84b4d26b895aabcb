import type { DescMethodUnary } from "@bufbuild/protobuf";
import { missingPermissions, type PermissionIds } from "./permissions.ts";
import { heldPermissions } from "./sessionState.ts";

/** Why the session may not call a procedure, for the button that would; undefined: it may. */
export const missingReason = (method: DescMethodUnary, ids: PermissionIds): string | undefined => {
  const missing = missingPermissions(method, ids, heldPermissions.value);
  return missing.length === 0 ? undefined : `Your session lacks ${missing.join(" and ")}.`;
};
