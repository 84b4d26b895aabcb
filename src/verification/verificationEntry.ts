import type { JsonObject } from "@bufbuild/protobuf";
import type { FixedPart } from "../domain/fixedPart.ts";
import { compileIpAllowlist, type IpAllowlist } from "../domain/ipAllowlist.ts";
import { type GrantedPermissions, grantPermissions } from "../domain/permissionQuery.ts";
import type { ApiDocument, IdentityDocument, KeyDocument, PermissionDocument, RoleDocument, StoredRefill } from "../storage/documents.ts";
import { type EffectiveLimit, limitCounterKey } from "./effectiveLimit.ts";
import { autoAppliedChecks, type LimitCheck } from "./ratelimitChecks.ts";

/** Everything that verifying one key needs, flattened from the objects it is made of. */
export interface VerificationEntry {
  readonly keyId: string;
  readonly apiId: string;
  readonly enabled: boolean;
  /** Undefined: verified from anywhere. */
  readonly ipAllowlist: IpAllowlist | undefined;
  readonly expires: number | undefined;
  /** First millisecond at which the key has expired. */
  readonly expiredFrom: number | undefined;
  readonly name: string | undefined;
  readonly meta: JsonObject | undefined;
  readonly permissions: GrantedPermissions;
  /** Sorted. */
  readonly roles: readonly string[];
  readonly identity:
    | {
        readonly id: string;
        readonly externalId: string;
        readonly meta: JsonObject | undefined;
        /** Those that no limit of the key shadows, in stored order. */
        readonly ratelimits: readonly EffectiveLimit[];
      }
    | undefined;
  /** Effective stored limits by name: the key's, and those of the identity whose name no key limit has. */
  readonly limits: ReadonlyMap<string, EffectiveLimit>;
  /** Checked on every verification, by name. */
  readonly autoApplied: readonly LimitCheck[];
  /** What every answer about the key shows alike; made by the first. */
  shown: FixedPart | undefined;
  /** The balance that this node saw last; undefined = unlimited. Only the store decides a spend. */
  balance: number | undefined;
  readonly refill: StoredRefill | undefined;
  /** The last refill instant that `balance` contains: the two move together. */
  refilledAt: number | undefined;
}

/** Metadata as it is shown: absent when there is none or when it is empty. */
export const readMeta = (text: string | undefined): JsonObject | undefined => {
  if (text === undefined || text === "{}") return undefined;
  return JSON.parse(text) as JsonObject;
};

export interface EntryParts {
  readonly api: ApiDocument;
  readonly key: KeyDocument;
  readonly identity: IdentityDocument | null;
  readonly roles: readonly RoleDocument[];
  /** Direct ones and those of the roles. */
  readonly permissions: readonly PermissionDocument[];
}

export const buildVerificationEntry = ({ api, key, identity, roles, permissions }: EntryParts): VerificationEntry => {
  const limits = new Map<string, EffectiveLimit>();
  for (const limit of key.ratelimits) {
    limits.set(limit.name, { ...limit, ofIdentity: false, counterKey: limitCounterKey("key", key._id, limit.duration, limit.name) });
  }
  const shared: EffectiveLimit[] = [];
  for (const limit of identity?.ratelimits ?? []) {
    if (limits.has(limit.name)) continue;
    const effective = {
      ...limit,
      ofIdentity: true,
      counterKey: limitCounterKey("identity", identity?._id ?? "", limit.duration, limit.name),
    };
    shared.push(effective);
    limits.set(limit.name, effective);
  }
  return {
    keyId: key._id,
    apiId: key.apiId,
    enabled: key.enabled,
    ipAllowlist: api.ipAllowlist && compileIpAllowlist(api.ipAllowlist),
    expires: key.expires,
    expiredFrom: key.expires === undefined || key.expiresInclusive ? key.expires : key.expires + 1,
    name: key.name,
    meta: readMeta(key.meta),
    permissions: grantPermissions(permissions.map((permission) => permission.slug)),
    roles: roles.map((role) => role.name).sort(),
    identity:
      identity?.externalId === undefined
        ? undefined
        : { id: identity._id, externalId: identity.externalId, meta: readMeta(identity.meta), ratelimits: shared },
    limits,
    autoApplied: autoAppliedChecks(limits.values()),
    shown: undefined,
    balance: key.remaining,
    refill: key.refill,
    refilledAt: key.refilledAt,
  };
};
