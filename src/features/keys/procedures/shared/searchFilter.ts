import type { SearchKeysRequest } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import type { KeyDocument } from "../../../../platform/storage/port/documents.ts";
import type { Call } from "../../../calls/call.ts";
import type { PermissionsRepository } from "../../../permissions/permissionsRepository.ts";
import type { RolesRepository } from "../../../permissions/rolesRepository.ts";
import { withDueRefills } from "../../refillCredits.ts";

export interface SearchFilterDeps {
  readonly permissions: Pick<PermissionsRepository, "findManyBySlug">;
  readonly roles: Pick<RolesRepository, "findMany" | "findManyByName">;
}

/** Those of the keys that the filters leave. */
export type SearchFilter = (keys: readonly KeyDocument[]) => Promise<readonly KeyDocument[]>;

/**
 * The filters that need a look at the key itself (management §2). They match exactly. Undefined: nothing can match, since the role or
 * permission does not exist.
 * @param identityId of the externalId that is asked for
 */
export const createSearchFilter = async (
  { permissions, roles }: SearchFilterDeps,
  { enabled, expiresBefore, role, permission, creditsBelow, unusedSince }: SearchKeysRequest,
  identityId: string | undefined,
  call: Call,
): Promise<SearchFilter | undefined> => {
  const wantedRole = role === undefined ? undefined : (await roles.findManyByName([role], call)).find(({ name }) => name === role);
  if (role !== undefined && wantedRole === undefined) return undefined;
  const wantedPermission =
    permission === undefined ? undefined : (await permissions.findManyBySlug([permission], call)).find(({ slug }) => slug === permission);
  if (permission !== undefined && wantedPermission === undefined) return undefined;

  const matches = (key: KeyDocument): boolean =>
    (identityId === undefined || key.identityId === identityId) &&
    (enabled === undefined || key.enabled === enabled) &&
    (expiresBefore === undefined || (key.expires !== undefined && key.expires < Number(expiresBefore))) &&
    (wantedRole === undefined || key.roleIds.includes(wantedRole._id)) &&
    (unusedSince === undefined || key.lastUsedAt === undefined || key.lastUsedAt < Number(unusedSince)) &&
    (creditsBelow === undefined || (withDueRefills(key, call.receivedAt).remaining ?? Number.POSITIVE_INFINITY) < Number(creditsBelow));

  /** By role, whether it holds the permission; each is looked up once. */
  const holding = new Map<string, boolean>();
  const learnRoles = async (keys: readonly KeyDocument[], permissionId: string): Promise<void> => {
    const unknown = [...new Set(keys.flatMap(({ roleIds }) => roleIds))].filter((id) => !holding.has(id));
    if (unknown.length === 0) return;
    for (const id of unknown) holding.set(id, false);
    for (const { _id, permissionIds } of await roles.findMany(unknown, call)) holding.set(_id, permissionIds.includes(permissionId));
  };

  return async (keys) => {
    const left = keys.filter(matches);
    if (wantedPermission === undefined) return left;
    const { _id: permissionId } = wantedPermission;
    await learnRoles(left, permissionId);
    return left.filter(({ permissionIds, roleIds }) => permissionIds.includes(permissionId) || roleIds.some((id) => holding.get(id)));
  };
};
