import { ServiceError } from "../base/errors.ts";
import type { HandOut } from "../base/handOut.ts";

/** What a root key can be permitted to do (protocol §8, management §1): actions by type. */
const catalogue = {
  api: [
    "create_api",
    "read_api",
    "update_api",
    "delete_api",
    "create_key",
    "read_key",
    "update_key",
    "delete_key",
    "verify_key",
    "encrypt_key",
    "decrypt_key",
    "read_analytics",
  ],
  ratelimit: [
    "limit",
    "create_namespace",
    "read_namespace",
    "update_namespace",
    "delete_namespace",
    "set_override",
    "read_override",
    "delete_override",
    "list_overrides",
    "read_analytics",
  ],
  rbac: [
    "create_permission",
    "read_permission",
    "update_permission",
    "delete_permission",
    "create_role",
    "read_role",
    "update_role",
    "delete_role",
    "add_permission_to_key",
    "remove_permission_from_key",
    "add_role_to_key",
    "remove_role_from_key",
    "add_permission_to_role",
    "remove_permission_from_role",
  ],
  identity: ["create_identity", "read_identity", "update_identity", "delete_identity", "erase_identity"],
  root_key: ["create_root_key", "read_root_key", "update_root_key", "delete_root_key"],
  audit: ["read_audit_log"],
  node: ["read_node"],
  console: ["sign_in"],
  migration: ["create_migration", "read_migration", "delete_migration"],
} as const;

type Catalogue = typeof catalogue;

/** An action together with its type: `api.read_key`, `rbac.create_role`. */
export type Action = { [T in keyof Catalogue]: `${T}.${Catalogue[T][number]}` }[keyof Catalogue];

/** A root-key permission `<type>.<id or *>.<action>`, taken apart. */
export interface Permission {
  readonly action: Action;
  /** Id of an object, or `*` for all. */
  readonly id: string;
}

const actions: ReadonlySet<string> = new Set(Object.entries(catalogue).flatMap(([type, names]) => names.map((name) => `${type}.${name}`)));

/** Types of what has no ids that a root key could be confined to. */
const unconfined: ReadonlySet<string> = new Set(["rbac", "audit", "node", "console", "migration"]);

/** Actions for which only `*` has a meaning: nothing exists yet, or the type knows no ids. */
const wildcardOnly = (type: string, action: string): boolean =>
  unconfined.has(type) || (action.includes(".create_") && action !== "api.create_key");

/**
 * Reads a permission of a root key. `apis` is another spelling of the type `api`. Returns undefined for everything
 * that protocol §8 tells to refuse: unknown types or actions, other than three parts, a `*` that is not the complete
 * middle part, an id where only `*` has a meaning.
 */
export const parsePermission = (text: string): Permission | undefined => {
  const parts = text.split(".");
  const [type, id, name] = parts;
  if (parts.length !== 3 || type === undefined || id === undefined || name === undefined) return undefined;
  const action = `${type === "apis" ? "api" : type}.${name}`;
  if (!actions.has(action)) return undefined;
  if (id !== "*" && (wildcardOnly(type, action) || !/^[A-Za-z0-9_-]{1,255}$/.test(id))) return undefined;
  return { action: action as Action, id };
};

/** `api.read_key` of `api_1` → `api.api_1.read_key`. */
export const formatPermission = ({ action, id }: Permission): string => {
  const dot = action.indexOf(".");
  return `${action.slice(0, dot)}.${id}${action.slice(dot)}`;
};

/** Every permission there is, in `*` form, sorted. */
export const allPermissions: readonly string[] = [...actions]
  .map((action) => formatPermission({ action: action as Action, id: "*" }))
  .sort();

/** Which objects an action may be applied to. */
export interface Scope {
  readonly all: boolean;
  readonly ids: ReadonlySet<string>;
}

const nothing: Scope = { all: false, ids: new Set() };
const everything: Scope = { all: true, ids: new Set() };

/** What a root key may do. */
export interface Grants {
  /** True for a root key without a permission list: it holds every permission, also those of later versions. */
  readonly unrestricted: boolean;
  readonly scope: (action: Action) => Scope;
}

export const unrestrictedGrants: Grants = { unrestricted: true, scope: () => everything };

/** Texts that `parsePermission` refuses grant nothing. */
export const compileGrants = (permissions: readonly string[]): Grants => {
  const scopes = new Map<Action, { all: boolean; ids: Set<string> }>();
  for (const text of permissions) {
    const permission = parsePermission(text);
    if (!permission) continue;
    const scope = scopes.get(permission.action) ?? { all: false, ids: new Set<string>() };
    scopes.set(permission.action, scope);
    if (permission.id === "*") scope.all = true;
    else scope.ids.add(permission.id);
  }
  return { unrestricted: false, scope: (action) => scopes.get(action) ?? nothing };
};

/** The root key or person that makes a call. */
export interface Caller {
  /** Of a person the `personId`. */
  readonly rootKeyId: string;
  readonly name: string | undefined;
  readonly expires: number | undefined;
  readonly grants: Grants;
  /** Nobody yet: it may do nothing, and is no caller of the workspace. */
  readonly isStranger?: true;
  /** Signed in by OpenID Connect (console §2.8): there is no such root key. */
  readonly isPerson?: true;
  /** Actions on which it rests that it may call at all: they count as asked for and held. */
  readonly restsOn?: readonly Action[];
  /** Hears of every permission that was asked for and is held; throws where holding it does not suffice. */
  readonly onPermitted?: (action: Action, id: string) => void;
  /** Hears of what it was found to be allowed to hand out (rootkeys §1). */
  readonly onHandedOut?: (handOut: HandOut) => void;
}

/** True when the caller holds the action for this object, or for all (`id` = `*`: only for all). */
export const allows = (caller: Pick<Caller, "grants">, action: Action, id: string): boolean => {
  const scope = caller.grants.scope(action);
  return scope.all || scope.ids.has(id);
};

/** The same, where the answer rests on it: it counts as asked for and held. */
export const permits = (caller: Caller, action: Action, id: string): boolean => {
  if (!allows(caller, action, id)) return false;
  caller.onPermitted?.(action, id);
  return true;
};

/** True when the caller holds the action for any object at all. */
export const allowsAny = (caller: Caller, action: Action): boolean => {
  const scope = caller.grants.scope(action);
  return scope.all || scope.ids.size > 0;
};

const alternatives = (action: Action, id: string): string => {
  const wildcard = formatPermission({ action, id: "*" });
  return id === "*" ? wildcard : `${formatPermission({ action, id })} or ${wildcard}`;
};

const lacks = ({ isPerson }: Pick<Caller, "isPerson">): string => `${isPerson ? "You lack" : "The root key lacks"} the permission`;

/** A 403 that names what the caller lacks: every alternative of every action in `missing`. */
export const insufficientPermissions = (caller: Pick<Caller, "isPerson">, missing: readonly (readonly [Action, string])[]): ServiceError =>
  new ServiceError(
    "insufficient_permissions",
    `${lacks(caller)} ${missing.map(([action, id]) => alternatives(action, id)).join(", and ")}.`,
  );

/** Throws 403 `insufficient_permissions` unless the caller holds one of the actions, for whatever object. */
export const requireAnyOf = (caller: Caller, actions: readonly Action[]): void => {
  const held = actions.find((action) => allowsAny(caller, action));
  if (held === undefined) {
    const missing = actions.map((action) => formatPermission({ action, id: "*" })).join(" or ");
    throw new ServiceError("insufficient_permissions", `${lacks(caller)} ${missing}, for any object.`);
  }
  const { all, ids } = caller.grants.scope(held);
  const [id] = all ? ["*"] : ids;
  if (id !== undefined) caller.onPermitted?.(held, id);
};

/** Throws 403 `insufficient_permissions` unless the caller holds every action for the object named beside it. */
export const requirePermissions = (caller: Caller, ...needed: readonly (readonly [Action, string])[]): void => {
  const missing = needed.filter(([action, id]) => !allows(caller, action, id));
  if (missing.length > 0) throw insufficientPermissions(caller, missing);
  for (const [action, id] of needed) caller.onPermitted?.(action, id);
};
