import type { Action } from "../authorization.ts";

/** What on the console needs the root key entered again (console §2.4): root keys, plaintexts of keys, deleting APIs and namespaces. */
const elevatedActions: ReadonlySet<Action> = new Set<Action>([
  "root_key.create_root_key",
  "root_key.update_root_key",
  "root_key.delete_root_key",
  "api.decrypt_key",
  "api.delete_api",
  "ratelimit.delete_namespace",
]);

export const needsElevation = (action: Action): boolean => elevatedActions.has(action);
