import { allPermissions, compileGrants, parsePermission } from "../../../../src/domain/authorization.ts";

/** Permissions of root keys that belong together: `api`, and its actions. */
export interface PermissionType {
  readonly type: string;
  readonly actions: readonly string[];
}

/** What people set most often stands first. */
const order = ["api", "ratelimit", "identity", "rbac", "root_key"];

const rank = (type: string): number => (order.includes(type) ? order.indexOf(type) : order.length);

const partsOf = (triple: string): readonly [type: string, id: string, action: string] => {
  const [type = "", id = "", action = ""] = triple.split(".");
  return [type, id, action];
};

/** Every permission that there is, by type. */
export const permissionTypes: readonly PermissionType[] = [...new Set(allPermissions.map((triple) => partsOf(triple)[0]))]
  .sort((one, other) => rank(one) - rank(other))
  .map((type) => ({ type, actions: allPermissions.filter((triple) => triple.startsWith(`${type}.`)).map((triple) => partsOf(triple)[2]) }));

/** Whether the triple is a permission: not all actions can be confined to one object (protocol §8). */
export const isPermission = (triple: string): boolean => parsePermission(triple) !== undefined;

/** The objects, without `*`, that permissions of a type are confined to. */
export const confinedTo = (triples: readonly string[], type: string): readonly string[] => [
  ...new Set(triples.map(partsOf).flatMap(([its, id]) => (its === type && id !== "*" ? [id] : []))),
];

/** Whether somebody who holds these permissions holds the one, by its own triple or the `*` form: only that can be handed out (rootkeys §1). */
export const holds = (held: readonly string[], triple: string): boolean => {
  const permission = parsePermission(triple);
  if (permission === undefined) return false;
  const scope = compileGrants(held).scope(permission.action);
  return scope.all || scope.ids.has(permission.id);
};

/** The choice with the triple in it or not. A `*` takes the place of what it covers. */
export const toggled = (chosen: readonly string[], triple: string): readonly string[] => {
  if (chosen.includes(triple)) return chosen.filter((other) => other !== triple);
  const [type, id, action] = partsOf(triple);
  const left = id === "*" ? chosen.filter((other) => !(other.startsWith(`${type}.`) && other.endsWith(`.${action}`))) : chosen;
  return [...left, triple].sort();
};

/** A choice that many root keys begin with. */
export interface PermissionTemplate {
  readonly label: string;
  readonly includes: (action: string) => boolean;
}

const issuing: ReadonlySet<string> = new Set([
  "api.read_api",
  "api.create_key",
  "api.read_key",
  "api.update_key",
  "api.delete_key",
  "identity.create_identity",
  "identity.read_identity",
  "identity.update_identity",
  "rbac.read_role",
  "rbac.read_permission",
  "rbac.add_role_to_key",
  "rbac.remove_role_from_key",
  "rbac.add_permission_to_key",
  "rbac.remove_permission_from_key",
]);

/** The templates of console §3, least first. */
export const permissionTemplates: readonly PermissionTemplate[] = [
  { label: "Verifier", includes: (action) => action === "api.verify_key" || action === "ratelimit.limit" },
  { label: "Issuer", includes: (action) => issuing.has(action) },
  { label: "Read-only", includes: (action) => action.includes(".read_") || action === "ratelimit.list_overrides" },
  {
    label: "Analyst",
    includes: (action) => action.endsWith(".read_analytics") || action === "api.read_api" || action === "ratelimit.read_namespace",
  },
  { label: "Everything", includes: () => true },
];

/**
 * The permissions of a template.
 * @param scopes object by type: `{ api: "api_1" }`; what cannot be confined to it is left out, other types have all objects
 */
export const templatePermissions = ({ includes }: PermissionTemplate, scopes: Readonly<Record<string, string>>): readonly string[] =>
  allPermissions
    .map(partsOf)
    .filter(([type, , action]) => includes(`${type}.${action}`))
    .map(([type, , action]) => `${type}.${scopes[type] ?? "*"}.${action}`)
    .filter(isPermission);
