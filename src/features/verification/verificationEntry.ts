import type { JsonObject } from "@bufbuild/protobuf";
import { compileIpAllowlist } from "../../platform/base/ipAllowlist.ts";
import type { Answered } from "../../platform/codec/answered.ts";
import type {
  ApiDocument,
  IdentityDocument,
  KeyDocument,
  PermissionDocument,
  RoleDocument,
  StoredRefill,
} from "../../platform/storage/port/documents.ts";
import { readMeta } from "../../platform/util/jsonText.ts";
import { type GrantedPermissions, grantPermissions } from "../permissions/permissionQuery.ts";
import { type EffectiveLimit, type EffectiveLimits, effectiveLimits } from "./effectiveLimits.ts";
import type { VerifiableKey } from "./verifiable.ts";

/** Everything that verifying one key needs, flattened from the objects it is made of. */
export interface VerificationEntry extends VerifiableKey, Answered {
  readonly keyId: string;
  readonly expires: number | undefined;
  readonly name: string | undefined;
  readonly meta: JsonObject | undefined;
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
  readonly limits: EffectiveLimits["limits"];
  readonly autoApplied: EffectiveLimits["autoApplied"];
  /** The balance that this node saw last. Only the store decides a spend. */
  remaining: number | undefined;
  readonly refill: StoredRefill | undefined;
  /** The last refill instant that `remaining` contains: the two move together. */
  refilledAt: number | undefined;
}

export interface EntryParts {
  readonly api: ApiDocument;
  readonly key: KeyDocument;
  readonly identity: IdentityDocument | null;
  readonly roles: readonly RoleDocument[];
  /** Direct ones and those of the roles. */
  readonly permissions: readonly PermissionDocument[];
}

/** Most keys have none; they share the empty list. */
const NO_ROLES: readonly string[] = [];

/** @param grant makes of the slugs of permissions what queries ask; keys with the same ones may share it. */
export const buildVerificationEntry = (
  { api, key, identity, roles, permissions }: EntryParts,
  grant: (slugs: readonly string[]) => GrantedPermissions = grantPermissions,
): VerificationEntry => {
  const { limits, ofIdentity, autoApplied } = effectiveLimits(key, identity);
  return {
    keyId: key._id,
    apiId: api._id,
    enabled: key.enabled,
    ipAllowlist: api.ipAllowlist && compileIpAllowlist(api.ipAllowlist),
    expires: key.expires,
    expiredFrom: key.expires === undefined || key.expiresInclusive ? key.expires : key.expires + 1,
    name: key.name,
    meta: readMeta(key.meta),
    permissions: grant(permissions.map((permission) => permission.slug)),
    roles: roles.length === 0 ? NO_ROLES : roles.map((role) => role.name).sort(),
    identity:
      identity?.externalId === undefined
        ? undefined
        : { id: identity._id, externalId: identity.externalId, meta: readMeta(identity.meta), ratelimits: ofIdentity },
    limits,
    autoApplied,
    written: undefined,
    answered: false,
    remaining: key.remaining,
    refill: key.refill,
    refilledAt: key.refilledAt,
  };
};
