// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { dataOf, expectError } from "../../support/api.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";

const forbidden = "unkey/authorization/insufficient_permissions";
const limit = { identifier: "user_1", limit: 1_000, duration: 60_000 };

/** A root key with these permissions and no others. */
const holding = (run: Run, ...permissions: string[]): Promise<string> => run.api.createRootKey({ permissions });

everywhere(
  (run) => {
    describe("[protocol §8] matching", () => {
      test("a permission for one object is for no other, a wildcard is for all", async () => {
        const [mine, other] = [await run.createApi(), await run.createApi()];
        const one = await holding(run, `api.${mine}.read_api`);
        dataOf(await run.call("apis.getApi", { apiId: mine }, one));
        const { detail } = expectError(await run.call("apis.getApi", { apiId: other }, one), 403, forbidden);
        expect(detail).toContain(`api.${other}.read_api`);
        expect(detail).toContain("api.*.read_api");
        expect(detail).not.toContain(mine);
        const all = await holding(run, "api.*.read_api");
        for (const apiId of [mine, other]) dataOf(await run.call("apis.getApi", { apiId }, all));
      });

      test("ids are compared as a whole and case-sensitively", async () => {
        const apiId = await run.createApi();
        for (const id of [apiId.slice(0, -1), `${apiId}x`, apiId.toLowerCase(), apiId.slice(4)]) {
          expectError(await run.call("apis.getApi", { apiId }, await holding(run, `api.${id}.read_api`)), 403, forbidden);
        }
      });

      test("apis is another spelling of api, and details name the singular form", async () => {
        const apiId = await run.createApi();
        const rootKey = await holding(run, "apis.*.create_key", `apis.${apiId}.read_key`);
        const { keyId } = dataOf(await run.call("keys.createKey", { apiId }, rootKey));
        dataOf(await run.call("keys.getKey", { keyId }, rootKey));
        const { detail } = expectError(await run.call("keys.deleteKey", { keyId }, rootKey), 403, forbidden);
        expect(detail).toContain(`api.${apiId}.delete_key`);
        expect(detail).not.toContain("apis.");
      });

      test("there is no hierarchy between actions, nor between types", async () => {
        const { keyId, apiId } = await run.createKey();
        const rootKey = await holding(
          run,
          "api.*.create_api",
          "api.*.update_key",
          "identity.*.read_identity",
          "ratelimit.*.read_analytics",
        );
        expectError(await run.call("keys.createKey", { apiId }, rootKey), 403, forbidden);
        expectError(await run.call("keys.getKey", { keyId }, rootKey), 403, forbidden);
        expectError(await run.call("apis.getApi", { apiId }, rootKey), 403, forbidden);
        dataOf(await run.call("keys.updateKey", { keyId }, rootKey));
      });

      test("the permission of an API counts for its keys only", async () => {
        const [mine, other] = [await run.createKey(), await run.createKey()];
        const rootKey = await holding(run, `api.${mine.apiId}.update_key`);
        dataOf(await run.call("keys.updateKey", { keyId: mine.keyId }, rootKey));
        const { detail } = expectError(await run.call("keys.updateKey", { keyId: other.keyId }, rootKey), 403, forbidden);
        expect(detail).toContain(`api.${other.apiId}.update_key`);
      });

      test("a namespace is named by its id, not its name", async () => {
        const namespace = run.unique("namespace");
        await run.data("ratelimit.limit", { namespace, ...limit });
        const id = (await run.api.store.collection("namespaces").findOne({ name: namespace }))?._id ?? "";
        dataOf(await run.call("ratelimit.limit", { namespace, ...limit }, await holding(run, `ratelimit.${id}.limit`)));
        dataOf(await run.call("ratelimit.limit", { namespace: id, ...limit }, await holding(run, `ratelimit.${id}.limit`)));
        expectError(
          await run.call("ratelimit.limit", { namespace, ...limit }, await holding(run, `ratelimit.${namespace}.limit`)),
          403,
          forbidden,
        );
      });
    });

    describe("[protocol §8] masking", () => {
      test("verifyKey and whoami: no grant at all is 403, a grant for other APIs is as if there were no such key", async () => {
        const { key } = await run.createKey();
        const none = await holding(run, "api.*.read_api");
        const other = await holding(run, "api.api_other123.verify_key", "api.api_other123.read_key");
        for (const [procedure, action] of [
          ["keys.verifyKey", "api.*.verify_key"],
          ["keys.whoami", "api.*.read_key"],
        ] as const) {
          for (const secret of [key, "unknown"]) {
            const { detail } = expectError(await run.call(procedure, { key: secret }, none), 403, forbidden);
            expect(detail).toContain(action);
          }
        }
        const verified = dataOf(await run.call("keys.verifyKey", { key }, other));
        expect(verified).toEqual({ valid: false, code: "NOT_FOUND" });
        expect(dataOf(await run.call("keys.verifyKey", { key: "unknown" }, other))).toEqual(verified);
        const masked = expectError(await run.call("keys.whoami", { key }, other), 404, "unkey/data/key_not_found");
        expect(expectError(await run.call("keys.whoami", { key: "unknown" }, other), 404, "unkey/data/key_not_found")).toEqual(masked);
      });

      test("ratelimit.limit: an unknown namespace asks for create_namespace, a known one for limit", async () => {
        const namespace = run.unique("namespace");
        const limiting = await holding(run, "ratelimit.*.limit");
        const unknown = expectError(await run.call("ratelimit.limit", { namespace, ...limit }, limiting), 403, forbidden);
        expect(unknown.detail).toContain("ratelimit.*.create_namespace");
        const creating = await holding(run, "ratelimit.*.create_namespace");
        expectError(await run.call("ratelimit.limit", { namespace, ...limit }, creating), 403, forbidden);
        expect(await run.api.store.collection("namespaces").findOne({ name: namespace })).toBeNull();
        dataOf(
          await run.call(
            "ratelimit.limit",
            { namespace, ...limit },
            await holding(run, "ratelimit.*.limit", "ratelimit.*.create_namespace"),
          ),
        );
        dataOf(await run.call("ratelimit.limit", { namespace, ...limit }, limiting));
        const known = expectError(await run.call("ratelimit.limit", { namespace, ...limit }, creating), 403, forbidden);
        expect(known.detail).toMatch(/ratelimit\.rlns_\w+\.limit or ratelimit\.\*\.limit/);
      });
    });

    describe("[protocol §8] more than one permission", () => {
      const items = () => ({ role: run.unique("role"), slug: run.unique("slug") });

      /** Each of the permissions alone is not enough, and the 403 names what is missing; all together are. */
      const expectNeeds = async (procedure: string, body: () => Promise<object>, needed: readonly string[]): Promise<void> => {
        for (const missing of needed) {
          const others = needed.filter((each) => each !== missing);
          const { detail } = expectError(await run.call(procedure, await body(), await holding(run, ...others)), 403, forbidden);
          expect(detail).toContain(missing);
          for (const held of others) expect(detail).not.toContain(held);
        }
        dataOf(await run.call(procedure, await body(), await holding(run, ...needed)));
      };

      test("addRoles: update_key and add_role_to_key", async () => {
        const { role } = items();
        await run.data("permissions.createRole", { name: role });
        const { keyId } = await run.createKey();
        await expectNeeds("keys.addRoles", async () => ({ keyId, roles: [role] }), ["api.*.update_key", "rbac.*.add_role_to_key"]);
      });

      test.each([
        ["keys.addPermissions", ["rbac.*.add_permission_to_key"]],
        ["keys.removePermissions", ["rbac.*.remove_permission_from_key"]],
        ["keys.setPermissions", ["rbac.*.add_permission_to_key", "rbac.*.remove_permission_from_key"]],
      ])("%s: update_key and %j", async (procedure, rbac) => {
        const { slug } = items();
        await run.data("permissions.createPermission", { name: "x", slug });
        const { keyId } = await run.createKey();
        await expectNeeds(procedure, async () => ({ keyId, permissions: [slug] }), ["api.*.update_key", ...rbac]);
      });

      test("making a permission on the way: also create_permission", async () => {
        const { keyId } = await run.createKey();
        const rbac = ["rbac.*.add_permission_to_key", "rbac.*.remove_permission_from_key"];
        const body = async () => ({ keyId, permissions: [items().slug] });
        for (const procedure of ["keys.addPermissions", "keys.setPermissions"]) {
          const needed = ["api.*.update_key", ...rbac.slice(0, procedure === "keys.setPermissions" ? 2 : 1)];
          await expectNeeds(procedure, body, [...needed, "rbac.*.create_permission"]);
        }
        const role = async () => ({ name: items().role, permissions: [items().slug] });
        const toRole = ["rbac.*.create_role", "rbac.*.add_permission_to_role", "rbac.*.create_permission"];
        await expectNeeds("permissions.createRole", role, toRole);
      });

      test("removeRoles, setRoles, updateKey and createKey ask for no rbac permission to assign what exists", async () => {
        const { role, slug } = items();
        await run.data("permissions.createRole", { name: role, permissions: [slug] });
        const { keyId, apiId } = await run.createKey();
        const rootKey = await holding(run, "api.*.update_key", "api.*.create_key");
        dataOf(await run.call("keys.setRoles", { keyId, roles: [role] }, rootKey));
        dataOf(await run.call("keys.removeRoles", { keyId, roles: [role] }, rootKey));
        dataOf(await run.call("keys.updateKey", { keyId, roles: [role], permissions: [slug] }, rootKey));
        dataOf(await run.call("keys.createKey", { apiId, roles: [role], permissions: [slug] }, rootKey));
      });

      test("recoverable keys: also encrypt_key, reading them: also decrypt_key", async () => {
        const { apiId, keyId } = await run.createKey();
        const creating = await holding(run, "api.*.create_key", "api.*.read_key");
        const created = expectError(await run.call("keys.createKey", { apiId, recoverable: true }, creating), 403, forbidden);
        expect(created.detail).toContain(`api.${apiId}.encrypt_key`);
        const read = expectError(await run.call("keys.getKey", { keyId, decrypt: true }, creating), 403, forbidden);
        expect(read.detail).toContain(`api.${apiId}.decrypt_key`);
      });
    });
  },
  ["v2", "grpc"],
);
