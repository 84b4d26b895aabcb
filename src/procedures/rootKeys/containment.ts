import { allows, type Caller, parsePermission } from "../../domain/authorization.ts";
import { ServiceError } from "../../domain/errors.ts";

/** No one can hand out more than they hold (rootkeys §1). */

/**
 * 403 unless the caller holds every permission, by the same triple or its `*` form; the detail names those missing.
 * @param permissions undefined = every permission, which only a caller without a list holds.
 */
export const requireContained = (caller: Caller, permissions: readonly string[] | undefined): void => {
  if (caller.grants.unrestricted) return;
  if (permissions === undefined) {
    throw new ServiceError("insufficient_permissions", "Only a root key that holds every permission can hand out every permission.");
  }
  const missing = permissions.filter((text) => {
    const permission = parsePermission(text);
    return permission === undefined || !allows(caller, permission.action, permission.id);
  });
  if (missing.length > 0) {
    throw new ServiceError("insufficient_permissions", `The root key cannot hand out what it does not hold: ${missing.join(", ")}.`);
  }
};

/** 403 when the caller expires and the root key at hand would outlive it. */
export const requireNoLaterExpiry = (caller: Caller, expires: number | undefined): void => {
  if (caller.expires === undefined || (expires !== undefined && expires <= caller.expires)) return;
  throw new ServiceError(
    "insufficient_permissions",
    `The root key expires at ${caller.expires} and can only make, update or reroll root keys that expire no later.`,
  );
};
