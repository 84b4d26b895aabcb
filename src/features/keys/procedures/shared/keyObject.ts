import type { MessageInitShape } from "@bufbuild/protobuf";
import { type KeySchema, RefillInterval, type RefillSchema } from "../../../../../gen/latchkey/v2/common_pb.ts";
import type { OperationOptions } from "../../../../platform/storage/port/collection.ts";
import type { KeyDocument, StoredRefill } from "../../../../platform/storage/port/documents.ts";
import { readMeta } from "../../../../platform/util/jsonText.ts";
import { readAll } from "../../../calls/readAll.ts";
import { showRatelimits } from "../../../calls/storedRatelimits.ts";
import type { IdentitiesRepository } from "../../../identities/identitiesRepository.ts";
import { showIdentity } from "../../../identities/identityObject.ts";
import type { PermissionsRepository } from "../../../permissions/permissionsRepository.ts";
import type { RolesRepository } from "../../../permissions/rolesRepository.ts";

export interface KeyObjectDeps {
  readonly identities: Pick<IdentitiesRepository, "findMany">;
  readonly permissions: Pick<PermissionsRepository, "findMany">;
  readonly roles: Pick<RolesRepository, "findMany">;
}

export const showRefill = ({ interval, amount, refillDay }: StoredRefill): MessageInitShape<typeof RefillSchema> => ({
  interval: interval === "monthly" ? RefillInterval.MONTHLY : RefillInterval.DAILY,
  amount: BigInt(amount),
  ...(refillDay === undefined ? {} : { refillDay: BigInt(refillDay) }),
});

const showCredits = ({ remaining, refill }: KeyDocument): MessageInitShape<typeof KeySchema>["credits"] =>
  remaining === undefined ? undefined : { remaining: BigInt(remaining), ...(refill === undefined ? {} : { refill: showRefill(refill) }) };

/**
 * Keys as getKey, whoami and listKeys show them (keys §1.8), in their order. What they hold is read from the store, for
 * all of them together.
 */
export const keyObjects = async (
  { identities, permissions, roles }: KeyObjectDeps,
  keys: readonly KeyDocument[],
  options: OperationOptions,
): Promise<MessageInitShape<typeof KeySchema>[]> => {
  const [identityOf, roleOf] = await Promise.all([
    readAll(
      keys.flatMap(({ identityId }) => identityId ?? []),
      (ids) => identities.findMany(ids, options),
    ),
    readAll(
      keys.flatMap(({ roleIds }) => roleIds),
      (ids) => roles.findMany(ids, options),
    ),
  ]);
  const held = keys.map((key) => {
    const heldRoles = [...new Set(key.roleIds)].flatMap((id) => roleOf.get(id) ?? []);
    return { key, heldRoles, permissionIds: [...new Set([...key.permissionIds, ...heldRoles.flatMap((role) => role.permissionIds)])] };
  });
  const permissionOf = await readAll(
    held.flatMap(({ permissionIds }) => permissionIds),
    (ids) => permissions.findMany(ids, options),
  );
  return held.map(({ key, heldRoles, permissionIds }) => {
    const identity = key.identityId === undefined ? undefined : identityOf.get(key.identityId);
    const meta = readMeta(key.meta);
    const credits = showCredits(key);
    return {
      keyId: key._id,
      start: key.start,
      enabled: key.enabled,
      createdAt: BigInt(key.createdAt),
      ...(key.updatedAt === undefined ? {} : { updatedAt: BigInt(key.updatedAt) }),
      ...(key.lastUsedAt === undefined ? {} : { lastUsedAt: BigInt(key.lastUsedAt) }),
      ...(key.name === undefined ? {} : { name: key.name }),
      ...(meta === undefined ? {} : { meta }),
      ...(key.expires === undefined ? {} : { expires: BigInt(key.expires) }),
      permissions: permissionIds.flatMap((id) => permissionOf.get(id)?.slug ?? []).sort(),
      roles: heldRoles.map((role) => role.name).sort(),
      ...(credits === undefined ? {} : { credits }),
      ...(identity === undefined ? {} : { identity: showIdentity(identity) }),
      ratelimits: showRatelimits(key.ratelimits),
    };
  });
};

/** The same for one key. */
export const keyObject = async (
  deps: KeyObjectDeps,
  key: KeyDocument,
  options: OperationOptions,
): Promise<MessageInitShape<typeof KeySchema>> => {
  const [shown] = await keyObjects(deps, [key], options);
  return shown ?? {};
};
