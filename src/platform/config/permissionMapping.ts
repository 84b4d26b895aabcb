import { parsePermission } from "../authorization/authorization.ts";
import type { Person } from "../base/person.ts";

/** Stands for every permission, also those of later versions. */
const EVERYTHING = "*";
/** More values of a claim than that are not kept; those that are mapped go first. */
const MOST_VALUES = 500;
const MOST_CHARACTERS = 255;

/** Which claim of a person gives which permissions (console §2.8). */
export interface PermissionMapping {
  /** The names on the way to the claim: `["groups"]`, `["realm_access", "roles"]`. */
  readonly claim: readonly string[];
  /** What is asked of the provider beside `openid`. */
  readonly scopes: readonly string[];
  /** By value of the claim: triples `type.id.action`, or `*` among them for everything. */
  readonly permissions: ReadonlyMap<string, readonly string[]>;
}

type Read<T> = { readonly value: T } | { readonly problem: string };

const isText = (value: unknown): value is string => typeof value === "string" && value !== "" && value.length <= MOST_CHARACTERS;
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.length > 0 && value.every(isText);
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const readPermissions = (given: unknown): Read<PermissionMapping["permissions"]> => {
  const entries = isRecord(given) ? Object.entries(given) : [];
  if (entries.length === 0) return { problem: '"permissions" has to map at least one value of the claim to a list of permissions' };
  const permissions = new Map<string, readonly string[]>();
  for (const [value, list] of entries) {
    if (!isText(value)) return { problem: '"permissions" has a value of the claim that is empty or longer than 255 characters' };
    if (!isTexts(list)) return { problem: `"permissions" has to give ${JSON.stringify(value)} a list of at least one permission` };
    const unknown = list.find((permission) => permission !== EVERYTHING && parsePermission(permission) === undefined);
    if (unknown !== undefined)
      return { problem: `"permissions" gives ${JSON.stringify(value)} the unknown permission ${JSON.stringify(unknown)}` };
    permissions.set(value, list);
  }
  return { value: permissions };
};

/** Reads `{ "claim": "groups", "scopes": ["profile", "groups"], "permissions": { "platform": ["*"] } }`; `scopes` may be left out. */
export const readPermissionMapping = (text: string): Read<PermissionMapping> => {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return { problem: "it is not JSON" };
  }
  if (!isRecord(given)) return { problem: 'it is no object with "claim" and "permissions"' };
  const { claim, scopes = ["profile", "email"], permissions: table, ...rest } = given;
  const [stray] = Object.keys(rest);
  if (stray !== undefined) return { problem: `it knows "claim", "scopes" and "permissions", not ${JSON.stringify(stray)}` };
  const path = isText(claim) ? [claim] : claim;
  if (!isTexts(path)) return { problem: '"claim" has to be the name of a claim, or the list of names on the way to it' };
  if (!isTexts(scopes) || scopes.some((scope) => !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)))
    return { problem: '"scopes" has to be a list of names of scopes' };
  const permissions = readPermissions(table);
  return "problem" in permissions ? permissions : { value: { claim: path, scopes, permissions: permissions.value } };
};

/** Tells one claim from another, in what is stored of a person. */
export const claimName = ({ claim }: Pick<PermissionMapping, "claim">): string => JSON.stringify(claim);

const claimAt = (claims: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined), claims);

/**
 * The values of the mapped claim, a text or a list of texts; undefined: there is no such claim. An e-mail address counts only with
 * `email_verified`: at some providers people may name any.
 */
export const claimValues = (mapping: PermissionMapping, claims: Readonly<Record<string, unknown>>): readonly string[] | undefined => {
  const { claim, permissions } = mapping;
  const found = claimAt(claims, claim);
  if (found === undefined) return undefined;
  if (claim.length === 1 && claim[0] === "email" && claims.email_verified !== true) return [];
  const values = [found].flat().filter(isText);
  const isMapped = (value: string): boolean => permissions.has(value);
  return [...values.filter(isMapped), ...values.filter((value) => !isMapped(value))].slice(0, MOST_VALUES);
};

/**
 * What the mapping gives a person: the permissions of all their values, without doubles; `everything`; undefined: nothing, so
 * that they may not sign in.
 */
export const mappedPermissions = (
  mapping: PermissionMapping,
  { claim, values }: Pick<Person, "claim" | "values">,
): readonly string[] | "everything" | undefined => {
  const lists = claim === claimName(mapping) ? values.map((value) => mapping.permissions.get(value) ?? []) : [];
  const permissions = [...new Set(lists.flat())].sort();
  if (permissions.includes(EVERYTHING)) return "everything";
  return permissions.length === 0 ? undefined : permissions;
};
