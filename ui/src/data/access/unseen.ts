import type { DescMethodUnary } from "@bufbuild/protobuf";
import { compileGrants, parsePermission } from "../../../../src/platform/authorization/authorization.ts";
import { CallError } from "../calls/callError.ts";
import { permissionsOf } from "../calls/methodOptions.ts";
import { enumName } from "../code/enumName.ts";
import type { PermissionIds } from "./permissions.ts";
import { heldPermissions } from "./sessionState.ts";

/** The objects of a list that a session may not see. */
export interface Unseen {
  /** The permissions that would show it: `api.*.read_api`. None: the session sees everything. */
  readonly permissions: readonly string[];
  /** The session sees nothing at all. */
  readonly all: boolean;
}

/** The value for a session that sees everything. */
export const nothingUnseen: Unseen = { permissions: [], all: false };

export interface UnseenOptions {
  /** Ids of the requested objects: `{ api_id: "api_…" }`. Unset: all objects. */
  readonly ids?: PermissionIds;
  /** The request: some permissions are needed for some requests only. */
  readonly request?: object;
}

/** Whether the rule holds for the request: "… when kind is verifications" names a field and one of its values. */
const applies = (rule: string, method: DescMethodUnary, request: object): boolean => {
  const condition = / when (?<name>\w+) is (?<wanted>\w+)/.exec(rule)?.groups;
  const field = method.input.fields.find(({ name }) => name === condition?.name);
  if (field?.enum === undefined) return true;
  const value: unknown = Reflect.get(request, field.localName);
  return enumName(field.enum, typeof value === "number" ? value : 0) === condition?.wanted;
};

/**
 * Finds what a session with these permissions does not see of an answer. Some procedures leave out what the caller may not read instead of
 * refusing the call; their permission option says so by "only these" or "only its rows".
 */
export const unseenOf = (method: DescMethodUnary, held: readonly string[], { ids = {}, request = {} }: UnseenOptions = {}): Unseen => {
  const grants = compileGrants(held);
  const unseen = permissionsOf(method)
    .filter((rule) => /\bonly\b/.test(rule) && applies(rule, method, request))
    .flatMap((rule) => {
      const [written = ""] = /^[a-z_]+\.(?:\{[^}]+\}|\*)\.[a-z_]+/.exec(rule) ?? [];
      const id = ids[/\{(?:\w+\.)?(?<name>\w+)\}/.exec(rule)?.groups?.name ?? ""];
      const permission = written.replace(/\{.*\}/, "*");
      const action = parsePermission(permission)?.action;
      if (action === undefined) return [];
      const scope = grants.scope(action);
      if (scope.all || (id !== undefined && scope.ids.has(id))) return [];
      return [{ permission: permission.replace("*", id ?? "*"), all: id !== undefined || scope.ids.size === 0 }];
    });
  return { permissions: unseen.map(({ permission }) => permission), all: unseen.some(({ all }) => all) };
};

/** The same for this session, see `unseenOf`. */
export const unseenBy = (method: DescMethodUnary, options?: UnseenOptions): Unseen => unseenOf(method, heldPermissions.value, options);

/** "lacks the permission api.*.read_api" */
export const lacks = ({ permissions }: Unseen): string =>
  `lacks the ${permissions.length === 1 ? "permission" : "permissions"} ${permissions.join(" and ")}`;

/** Names in a sentence what the session lacks. */
export const lacking = (unseen: Unseen): string => `Your session ${lacks(unseen)}.`;

/** Refuses to request a list that the session cannot see at all: an empty answer would read as "none". @throws {CallError} forbidden */
export const requireSight = (method: DescMethodUnary): void => {
  const unseen = unseenBy(method);
  if (unseen.all) throw new CallError("forbidden", lacking(unseen), { title: "Forbidden" });
};
