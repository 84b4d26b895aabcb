import type { Action } from "../../platform/authorization/authorization.ts";

/** What on the console needs the root key entered again (console §2.4): root keys, plaintexts of keys, deleting APIs and namespaces, erasing people. */
const elevatedActions: ReadonlySet<Action> = new Set<Action>([
  "root_key.create_root_key",
  "root_key.update_root_key",
  "root_key.delete_root_key",
  "api.decrypt_key",
  "api.delete_api",
  "ratelimit.delete_namespace",
  "identity.erase_identity",
]);

export const needsElevation = (action: Action): boolean => elevatedActions.has(action);

/** How far the clock of an identity provider may be behind, in ms. */
const SKEW_MS = 10_000;

/**
 * Whether a person proved who they are after `since` (Unix ms), which elevates their session. @param authTime what the provider says, in
 * Unix seconds; a provider that does not say has not asked.
 */
export const isAuthenticatedSince = (authTime: number | undefined, since: number): boolean =>
  authTime !== undefined && authTime * 1_000 > since - SKEW_MS;
