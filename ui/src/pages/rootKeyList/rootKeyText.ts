import type { RootKey } from "../../../../gen/latchkey/v2/root_keys_pb.ts";

/** The name of a root key; undefined where it has none. */
export const nameOf = ({ name }: RootKey): string | undefined => (name?.kind.case === "value" ? name.kind.value : undefined);

/** The text that a person types to revoke a root key: its name, or its id where it has none. */
export const titleOf = (rootKey: RootKey): string => nameOf(rootKey) ?? rootKey.keyId;

/** Unix ms; undefined: never. */
export const expiryOf = ({ expires }: RootKey): bigint | undefined => (expires?.kind.case === "value" ? expires.kind.value : undefined);

/** `enabled`, `disabled` or `expired`. @param now Unix ms */
export const stateOf = (rootKey: RootKey, now: number): string => {
  if (!rootKey.enabled) return "disabled";
  const expires = expiryOf(rootKey);
  return expires !== undefined && Number(expires) <= now ? "expired" : "enabled";
};

/** Those of its permissions that calls have needed lately: nothing is used that was taken away since. */
export const usedOf = ({ permissions, usedPermissions }: RootKey): readonly string[] => {
  const held = new Set(permissions);
  return usedPermissions.map(({ permission }) => permission).filter((permission) => held.has(permission));
};

/** Why a root key cannot be shrunk to what it used; undefined: it can. */
export const unshrinkable = (rootKey: RootKey): string | undefined => {
  const used = usedOf(rootKey).length;
  if (used === 0) return "It has used nothing in 30 days: revoke it instead.";
  return used === rootKey.permissions.length ? "It uses all of its permissions." : undefined;
};
