import type { Key, Role } from "../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService, type SearchKeysResponse } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { type ListRolesResponse, PermissionsService } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { type Answer, type CallOptions, call } from "../../data/calls/call.ts";
import { rolesGiving, searchText, slugsAsked } from "./holders.ts";

/** The answer to "who holds it?". */
export interface Holders {
  readonly keys: readonly Key[];
  readonly roles: readonly Role[];
  /** There are keys that were not looked at. */
  readonly hasMore: boolean;
}

const { listPermissions, listRoles } = PermissionsService.method;
const { searchKeys } = KeysService.method;

const readRoles = async (options: CallOptions): Promise<readonly Role[]> => {
  const roles: Role[] = [];
  let cursor: string | undefined = "";
  while (cursor !== undefined) {
    const answer: Answer<ListRolesResponse> = await call(listRoles, { limit: 100n, cursor }, options);
    roles.push(...answer.message.data);
    cursor = answer.message.pagination?.cursor;
  }
  return roles;
};

/** Keys that hold exactly this slug. A page may be short, so a number of them is asked for. */
const readKeys = async (permission: string, pages: number, options: CallOptions): Promise<Pick<Holders, "keys" | "hasMore">> => {
  const keys: Key[] = [];
  let cursor: string | undefined = "";
  for (let page = 0; page < pages && cursor !== undefined; page += 1) {
    const answer: Answer<SearchKeysResponse> = await call(searchKeys, { permission, limit: 100n, cursor }, options);
    keys.push(...answer.message.data);
    cursor = answer.message.pagination?.cursor;
  }
  return { keys, hasMore: cursor !== undefined };
};

/** Finds the keys and roles that hold a permission, or a part of a wildcard. @param pages of keys for each slug */
export const readHolders = async (asked: string, pages: number, options: CallOptions): Promise<Holders> => {
  const [permissions, roles] = await Promise.all([
    call(listPermissions, { search: searchText(asked), limit: 100n }, options),
    readRoles(options),
  ]);
  const slugs = slugsAsked(
    asked,
    permissions.message.data.map(({ slug }) => slug),
  );
  const found = await Promise.all(slugs.map((slug) => readKeys(slug, pages, options)));
  const byId = new Map(found.flatMap(({ keys }) => keys).map((key) => [key.keyId, key]));
  return { keys: [...byId.values()], roles: rolesGiving(roles, asked), hasMore: found.some(({ hasMore }) => hasMore) };
};
