import { type RootKeyTemplate, rootKeyTemplates } from "../../../../src/features/rootKeys/rootKeyTemplates.ts";
import { allPermissions, compileGrants, parsePermission } from "../../../../src/platform/authorization/authorization.ts";

/** Permissions of root keys that belong together: `api`, and its actions. */
export interface PermissionType {
  readonly type: string;
  readonly actions: readonly string[];
}

/** The types that people set most often come first. */
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

/** Whether the held permissions contain this one, as its own triple or in the `*` form: a session can only grant what it holds (rootkeys §1). */
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

/** A template, and what its button says. */
export interface LabelledTemplate extends RootKeyTemplate {
  readonly label: string;
}

const labels: Readonly<Record<string, string>> = { admin: "Full access" };

/** The templates of console §3, least first. */
export const labelledTemplates: readonly LabelledTemplate[] = rootKeyTemplates.map((template) => ({
  ...template,
  label: labels[template.name] ?? template.name.charAt(0).toUpperCase() + template.name.slice(1),
}));

/**
 * The permissions of a template.
 * @param scopes object by type: `{ api: "api_1" }`; what cannot be confined to it is left out, other types have all objects
 */
export const scopedPermissions = ({ permissions }: RootKeyTemplate, scopes: Readonly<Record<string, string>>): readonly string[] =>
  permissions
    .map(partsOf)
    .map(([type, id, action]) => `${type}.${scopes[type] ?? id}.${action}`)
    .filter(isPermission);
