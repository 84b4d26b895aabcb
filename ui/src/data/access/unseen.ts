import type { DescMethodUnary } from "@bufbuild/protobuf";
import { compileGrants, parsePermission } from "../../../../src/platform/authorization/authorization.ts";
import { CallError } from "../calls/callError.ts";
import { permissionsOf } from "../calls/methodOptions.ts";
import { enumName } from "../code/enumName.ts";
import type { PermissionIds } from "./permissions.ts";
import { heldPermissions } from "./sessionState.ts";

/** What a session does not see of what a procedure lists. */
export interface Unseen {
  /** The permissions that would show it: `api.*.read_api`. None: the session sees everything. */
  readonly permissions: readonly string[];
  /** The session sees nothing at all. */
  readonly all: boolean;
}

/** The value for a session that sees everything. */
export const nothingUnseen: Unseen = { permissions: [], all: false };

export interface UnseenOptions {
  /** Of the objects that are asked about: `{ api_id: "api_…" }`; all objects unless given. */
  readonly ids?: PermissionIds;
  /** What is asked: some permissions are needed for one kind of question only. */
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
 * What a session with these permissions does not see of an answer. Some procedures leave out what the caller may not read instead of
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

/** What this session does not see of an answer, see `unseenOf`. */
export const unseenBy = (method: DescMethodUnary, options?: UnseenOptions): Unseen => unseenOf(method, heldPermissions.value, options);

/** "lacks the permission api.*.read_api" */
export const lacks = ({ permissions }: Unseen): string =>
  `lacks the ${permissions.length === 1 ? "permission" : "permissions"} ${permissions.join(" and ")}`;

/** Names in a sentence what the session lacks. */
export const lacking = (unseen: Unseen): string => `Your session ${lacks(unseen)}.`;

/** Refuses to ask for a list of which the session sees nothing: its empty answer would read as "none". @throws {CallError} forbidden */
export const requireSight = (method: DescMethodUnary): void => {
  const unseen = unseenBy(method);
  if (unseen.all) throw new CallError("forbidden", lacking(unseen), { title: "Forbidden" });
};
