import type { Caller } from "../../platform/authorization/authorization.ts";
import type { IpAllowlist } from "../../platform/base/ipAllowlist.ts";
import type { GrantedPermissions, PermissionQuery } from "../permissions/permissionQuery.ts";

/** What of a key decides a verification. */
export interface VerifiableKey {
  readonly apiId: string;
  readonly enabled: boolean;
  /** First millisecond at which the key has expired, Unix ms; undefined: it never does. */
  readonly expiredFrom: number | undefined;
  /** Undefined: verified from anywhere. */
  readonly ipAllowlist: IpAllowlist | undefined;
  readonly permissions: GrantedPermissions;
  /** The limits that every verification checks. */
  readonly autoApplied: readonly unknown[];
  /** Credits; undefined = unlimited. */
  readonly remaining: number | undefined;
}

/** A limit that the request names (verify §2). */
export interface RequestedLimit {
  readonly name: string;
  readonly cost: number;
  readonly limit: number | undefined;
  readonly duration: number | undefined;
}

/** What is asked of a key (verify §2). */
export interface VerificationRequest {
  /** Ids of the APIs whose keys count; undefined: of every API. */
  readonly keyspaces: readonly string[] | undefined;
  /** Undefined: no permission is asked for. */
  readonly query: PermissionQuery | undefined;
  readonly limits: readonly RequestedLimit[];
  /** Credits that a key with a balance is asked for, 0 or more. */
  readonly cost: number;
}

/** Who asks, from where, and when. */
export interface Circumstances {
  readonly caller: Pick<Caller, "grants">;
  /** Undefined where nobody knows it: then a list of addresses allows nobody (verify §9). */
  readonly remoteIp: string | undefined;
  /** The time by which is decided, Unix ms. */
  readonly receivedAt: number;
}
