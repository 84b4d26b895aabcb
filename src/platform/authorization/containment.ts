import { ServiceError } from "../base/errors.ts";
import type { HandOut } from "../base/handOut.ts";
import { allows, type Caller, type Permission, parsePermission } from "./authorization.ts";

/** No one can hand out more than they hold (rootkeys §1). */

/**
 * 403 unless the caller holds every permission, by the same triple or its `*` form; the detail names those missing.
 * @param permissions undefined = every permission, which only a caller without a list holds.
 */
export const requireContained = (caller: Caller, permissions: readonly string[] | undefined): void => {
  if (permissions === undefined) {
    if (!caller.grants.unrestricted) {
      throw new ServiceError("insufficient_permissions", "Only a caller that holds every permission can hand out every permission.");
    }
    caller.onHandedOut?.({ everything: true });
    return;
  }
  const held: Permission[] = [];
  const missing = permissions.filter((text) => {
    const permission = parsePermission(text);
    if (permission === undefined) return !caller.grants.unrestricted;
    held.push(permission);
    return !allows(caller, permission.action, permission.id);
  });
  if (missing.length > 0) {
    throw new ServiceError(
      "insufficient_permissions",
      `${caller.isPerson ? "You cannot hand out what you do" : "The root key cannot hand out what it does"} not hold: ${missing.join(", ")}.`,
    );
  }
  for (const { action, id } of held) caller.onPermitted?.(action, id);
};

/** 403 when the caller expires and the root key at hand would outlive it; `expires` undefined = never. */
export const requireNoLaterExpiry = (caller: Caller, expires: number | undefined): void => {
  if (caller.expires !== undefined && (expires === undefined || expires > caller.expires)) {
    throw new ServiceError(
      "insufficient_permissions",
      `The root key expires at ${caller.expires} and can only make, update or reroll root keys that expire no later.`,
    );
  }
  caller.onHandedOut?.({ expires: expires ?? null });
};

/** Judges again what a call handed out, by what its caller holds now. */
export const requireStillContained = (caller: Caller, { everything, expires }: HandOut): void => {
  if (everything) requireContained(caller, undefined);
  if (expires !== undefined) requireNoLaterExpiry(caller, expires ?? undefined);
};
