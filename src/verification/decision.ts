import { type PermissionQuery, satisfies } from "../domain/permissionQuery.ts";
import { bringInRefills, type Refillable } from "../domain/refill.ts";
import type { VerificationEntry } from "./verificationEntry.ts";

/** What the key and the request alone decide against a verification (verify §6, steps 6 to 9). */
export type Refusal = "DISABLED" | "EXPIRED" | "FORBIDDEN" | "INSUFFICIENT_PERMISSIONS";

/** @param now Unix ms; equal to `expires` is still valid, save for keys that were rerolled away (verify §6 step 7). */
export const hasExpired = ({ expiredFrom }: VerificationEntry, now: number): boolean => expiredFrom !== undefined && now >= expiredFrom;

/** @param address undefined where nobody knows it: then a list allows nobody (verify §9). */
export const isAllowedFrom = ({ ipAllowlist }: VerificationEntry, address: string | undefined): boolean =>
  ipAllowlist === undefined || ipAllowlist.allows(address);

/** @param query undefined where none was sent (verify §6 step 9). */
export const isPermitted = ({ permissions }: VerificationEntry, query: PermissionQuery | undefined): boolean =>
  query === undefined || satisfies(permissions, query);

/** The first of the steps 6 to 9 of verify §6 that fails; undefined when none does. */
export const refusal = (
  entry: VerificationEntry,
  query: PermissionQuery | undefined,
  now: number,
  remoteIp: string | undefined,
): Refusal | undefined => {
  if (!entry.enabled) return "DISABLED";
  if (hasExpired(entry, now)) return "EXPIRED";
  if (!isAllowedFrom(entry, remoteIp)) return "FORBIDDEN";
  if (!isPermitted(entry, query)) return "INSUFFICIENT_PERMISSIONS";
  return undefined;
};

/** What the balance of a cached key depends on. */
export const creditsOf = ({ balance, refill, refilledAt }: VerificationEntry): Refillable => ({
  ...(balance === undefined ? {} : { remaining: balance }),
  ...(refill === undefined ? {} : { refill }),
  ...(refilledAt === undefined ? {} : { refilledAt }),
});

/** The balance that the entry knows, with the refills that are due since; undefined = unlimited. */
export const balanceAt = (entry: VerificationEntry, now: number): number | undefined =>
  bringInRefills(creditsOf(entry), now)?.remaining ?? entry.balance;
