import { describe, expect, test } from "vitest";
import {
  allows,
  allowsAny,
  allPermissions,
  type Caller,
  compileGrants,
  formatPermission,
  parsePermission,
  requirePermissions,
  unrestrictedGrants,
} from "../../src/platform/authorization/authorization.ts";
import { ServiceError } from "../../src/platform/base/errors.ts";

const caller = (...permissions: string[]): Caller => ({
  rootKeyId: "rk_1",
  name: undefined,
  expires: undefined,
  grants: compileGrants(permissions),
});

describe("grammar", () => {
  test.each([
    "api.*.create_api",
    "api.api_1.verify_key",
    "ratelimit.rlns_1.limit",
    "rbac.*.create_role",
    "identity.*.read_identity",
    "root_key.*.create_root_key",
    "api.api_1.update_api",
    "ratelimit.*.read_namespace",
  ])("[protocol §8] %s is a permission", (text) => {
    const permission = parsePermission(text);
    expect(permission && formatPermission(permission)).toBe(text);
  });

  test.each([
    "*",
    "api.*",
    "api.*.*",
    "api.ab*.read_api",
    "api..read_api",
    "api.*.unknown",
    "unknown.*.read_api",
    "api.a.b.read_api",
    "rbac.role_1.create_role",
    "api.api_1.create_api",
    "ratelimit.rlns_1.create_namespace",
    "API.*.read_api",
    "api.*.read_api ",
    "",
    "api.a b.read_api",
  ])("[protocol §8] %j is refused", (text) => {
    expect(parsePermission(text)).toBeUndefined();
  });

  test.each(["audit.*.read_audit_log", "node.*.read_node", "console.*.sign_in", "migration.*.delete_migration"])(
    "[management §1] %s is a permission, and refused with an id",
    (text) => {
      const permission = parsePermission(text);
      expect(permission && formatPermission(permission)).toBe(text);
      expect(parsePermission(text.replace("*", "x1"))).toBeUndefined();
    },
  );

  test("[protocol §8] apis is another spelling of the type api", () => {
    const permission = parsePermission("apis.*.create_key");
    expect(permission && formatPermission(permission)).toBe("api.*.create_key");
    expect(allows(caller("apis.*.create_key"), "api.create_key", "api_1")).toBe(true);
  });

  test("[protocol §8] every permission in * form is accepted by the parser", () => {
    expect(allPermissions.length).toBeGreaterThan(40);
    expect(allPermissions.filter((text) => parsePermission(text) === undefined)).toEqual([]);
  });
});

describe("matching", () => {
  test("[protocol §8] the wildcard covers every id, an id only itself", () => {
    expect(allows(caller("api.*.read_key"), "api.read_key", "api_1")).toBe(true);
    expect(allows(caller("api.api_1.read_key"), "api.read_key", "api_1")).toBe(true);
    expect(allows(caller("api.api_1.read_key"), "api.read_key", "api_2")).toBe(false);
    expect(allows(caller("api.api_1.read_key"), "api.read_key", "API_1")).toBe(false);
    expect(allows(caller("api.api_1.read_key"), "api.read_key", "*")).toBe(false);
  });

  test("[protocol §8] no action implies another", () => {
    expect(allows(caller("api.*.update_key"), "api.read_key", "api_1")).toBe(false);
    expect(allows(caller("api.*.create_api"), "api.create_key", "api_1")).toBe(false);
    expect(allows(caller("api.*.read_analytics"), "ratelimit.read_analytics", "rlns_1")).toBe(false);
  });

  test("[protocol §8] malformed grants grant nothing", () => {
    const powerless = caller("*", "api.*", "api.*.*", "api.ab*.read_api");
    expect(allowsAny(powerless, "api.read_api")).toBe(false);
  });

  test("[protocol §7] a root key without a list holds everything", () => {
    const root: Caller = { ...caller(), grants: unrestrictedGrants };
    expect(allows(root, "root_key.create_root_key", "*")).toBe(true);
  });

  test("[protocol §8] a 403 names every missing permission with its alternatives, and nothing that is held", () => {
    try {
      requirePermissions(caller("api.*.read_key"), ["api.read_key", "api_1"], ["api.read_api", "api_1"], ["rbac.create_role", "*"]);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ServiceError);
      const { reason, message } = error as ServiceError;
      expect(reason).toBe("insufficient_permissions");
      expect(message).toContain("api.api_1.read_api or api.*.read_api");
      expect(message).toContain("rbac.*.create_role");
      expect(message).not.toContain("read_key");
    }
  });
});
