import type { DescMethodUnary } from "@bufbuild/protobuf";
import { compileGrants, parsePermission } from "../../../../src/platform/authorization/authorization.ts";
import { permissionsOf } from "../calls/methodOptions.ts";

/** Ids by the name that a permission's placeholder ends in: `{ api_id: "api_…" }` fits `{api_id}` and `{key.api_id}`. */
export type PermissionIds = Readonly<Record<string, string>>;

/**
 * Lists the permissions that a session lacks to call a procedure on an object, for a disabled button and its reason.
 * Conditions that the request decides ("… when recoverable") are left to the service.
 * @param ids of the object; a placeholder without one is met by a grant for any object
 * @returns triples, empty when nothing is missing
 */
export const missingPermissions = (method: DescMethodUnary, ids: PermissionIds, held: readonly string[]): readonly string[] => {
  const grants = compileGrants(held);
  return permissionsOf(method)
    .filter((rule) => /^[a-z_]+\.\S+\.[a-z_]+$/.test(rule))
    .flatMap((rule) => {
      const name = /\{(?:.*\.)?(?<name>[^.}]+)\}/.exec(rule)?.groups?.name;
      const id = name === undefined ? "*" : ids[name];
      const wildcard = rule.replace(/\{.*\}/, "*");
      const action = parsePermission(wildcard)?.action;
      if (action === undefined) return [];
      const scope = grants.scope(action);
      const holds = scope.all || (id === undefined ? scope.ids.size > 0 : scope.ids.has(id));
      return holds ? [] : [rule.replace(/\{.*\}/, id ?? "*")];
    });
};
