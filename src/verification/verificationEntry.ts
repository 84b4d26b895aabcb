import type { JsonObject } from "@bufbuild/protobuf";
import { compileIpAllowlist, type IpAllowlist } from "../domain/ipAllowlist.ts";
import { type GrantedPermissions, grantPermissions } from "../domain/permissionQuery.ts";
import type {
  ApiDocument,
  IdentityDocument,
  KeyDocument,
  PermissionDocument,
  RoleDocument,
  StoredRatelimit,
  StoredRefill,
} from "../storage/port/documents.ts";
import { jsonText } from "../util/jsonText.ts";
import type { Answered } from "./answered.ts";
import { autoAppliedChecks, type EffectiveLimit, limitCounterKey } from "./effectiveLimit.ts";
import type { LimitCheck } from "./limitCheck.ts";

/** Everything that verifying one key needs, flattened from the objects it is made of. */
export interface VerificationEntry extends Answered {
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
  /** Effective stored limits, each name once: the key's, and those of the identity whose name no key limit has. */
  readonly limits: readonly EffectiveLimit[];
  /** Checked on every verification, by name. */
  readonly autoApplied: readonly LimitCheck[];
  /** The balance that this node saw last; undefined = unlimited. Only the store decides a spend. */
  balance: number | undefined;
  readonly refill: StoredRefill | undefined;
  /** The last refill instant that `balance` contains: the two move together. */
  refilledAt: number | undefined;
}

/** Metadata as it is shown: absent when there is none or when it is empty. It stays the text as which it is stored. */
export const readMeta = (text: string | undefined): JsonObject | undefined =>
  text === undefined || text === "{}" ? undefined : jsonText(text);

export interface EntryParts {
  readonly api: ApiDocument;
  readonly key: KeyDocument;
  readonly identity: IdentityDocument | null;
  readonly roles: readonly RoleDocument[];
  /** Direct ones and those of the roles. */
  readonly permissions: readonly PermissionDocument[];
}

/** Most keys have none of them; they share the empty lists. */
const NO_LIMITS: readonly EffectiveLimit[] = [];
const NO_ROLES: readonly string[] = [];

const effectiveLimit = (
  { id, name, limit, duration, autoApply }: StoredRatelimit,
  scope: "key" | "identity",
  subjectId: string,
): EffectiveLimit => ({
  id,
  name,
  autoApply,
  key: limitCounterKey(scope, subjectId, duration, name),
  limit,
  duration,
  cost: 1,
  written: undefined,
  answered: false,
  ofIdentity: scope === "identity",
});

/** @param grant makes of the slugs of permissions what queries ask; keys with the same ones may share it. */
export const buildVerificationEntry = (
  { api, key, identity, roles, permissions }: EntryParts,
  grant: (slugs: readonly string[]) => GrantedPermissions = grantPermissions,
): VerificationEntry => {
  const own = key.ratelimits.map((limit) => effectiveLimit(limit, "key", key._id));
  const shared =
    identity?.ratelimits
      .filter(({ name }) => own.every((limit) => limit.name !== name))
      .map((limit) => effectiveLimit(limit, "identity", identity._id)) ?? NO_LIMITS;
  const limits = own.length + shared.length === 0 ? NO_LIMITS : [...own, ...shared];
  const autoApplied = autoAppliedChecks(limits);
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
        : { id: identity._id, externalId: identity.externalId, meta: readMeta(identity.meta), ratelimits: shared },
    limits,
    autoApplied: autoApplied.length === 0 ? NO_LIMITS : autoApplied,
    written: undefined,
    answered: false,
    balance: key.remaining,
    refill: key.refill,
    refilledAt: key.refilledAt,
  };
};
