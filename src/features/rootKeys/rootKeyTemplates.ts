import { allPermissions } from "../../platform/authorization/authorization.ts";

/** Permissions that many root keys begin with. */
export interface RootKeyTemplate {
  /** As the command line takes it. */
  readonly name: string;
  /** In `*` form, sorted. */
  readonly permissions: readonly string[];
}

const issuing = [
  "api.*.create_key",
  "api.*.delete_key",
  "api.*.read_api",
  "api.*.read_key",
  "api.*.update_key",
  "identity.*.create_identity",
  "identity.*.read_identity",
  "identity.*.update_identity",
  "rbac.*.add_permission_to_key",
  "rbac.*.add_role_to_key",
  "rbac.*.read_permission",
  "rbac.*.read_role",
  "rbac.*.remove_permission_from_key",
  "rbac.*.remove_role_from_key",
];

/** Least first. The command line and the console offer the same ones. */
export const rootKeyTemplates: readonly RootKeyTemplate[] = [
  { name: "verifier", permissions: ["api.*.verify_key", "ratelimit.*.limit"] },
  { name: "issuer", permissions: issuing },
  {
    name: "analyst",
    permissions: ["api.*.read_analytics", "api.*.read_api", "ratelimit.*.read_analytics", "ratelimit.*.read_namespace"],
  },
  {
    name: "read-only",
    permissions: allPermissions.filter((triple) => triple.includes(".read_") || triple === "ratelimit.*.list_overrides"),
  },
  { name: "admin", permissions: allPermissions },
];
