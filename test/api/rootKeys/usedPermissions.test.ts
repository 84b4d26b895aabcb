import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { everywhere } from "../../support/everywhere.ts";
import { rootKeyCalls } from "../../support/rootKeys.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;

everywhere(
  (run) => {
    const { create, shown } = rootKeyCalls(run);
    const used = async (keyId: string): Promise<string[]> => (await shown(keyId)).usedPermissions.map(({ permission }) => permission);

    test("[management §5] permissions that calls needed are shown in listKeys and whoami; a call that fails needs none", async () => {
      const { apiId, key: secret } = await run.createKey();
      const namespace = run.unique("namespace");
      const permissions = [
        ...[
          `api.${apiId}.read_api`,
          "api.*.read_api",
          "api.*.read_key",
          "api.*.verify_key",
          `api.${apiId}.update_key`,
          "ratelimit.*.read_namespace",
        ],
        ...["ratelimit.*.limit", "ratelimit.*.create_namespace", "identity.*.read_identity", "rbac.*.read_role", "rbac.*.delete_role"],
        ...["root_key.*.create_root_key", "root_key.*.read_root_key"],
      ];
      const { keyId, key } = await create({ permissions });
      expect((await shown(keyId)).usedPermissions).toEqual([]);
      expect((await run.data("rootKeys.whoami", {}, key)).usedPermissions).toEqual([]);
      const before = Date.now();
      await run.data("apis.getApi", { apiId }, key);
      await run.data("keys.verifyKey", { key: secret }, key);
      await run.data("keys.whoami", { key: secret }, key);
      await run.data("ratelimit.limit", { namespace, identifier: "a", limit: 1, duration: 60_000 }, key);
      await run.data("permissions.listRoles", {}, key);
      await run.data("ratelimit.listNamespaces", {}, key);
      // Handed out, so needed; and what fails: 404, 403, 400.
      await run.data("rootKeys.createKey", { permissions: [`api.${apiId}.update_key`] }, key);
      expect((await run.call("permissions.deleteRole", { role: "unknown" }, key)).status).toBe(404);
      expect((await run.call("identities.getIdentity", { identity: "unknown" }, key)).status).toBe(404);
      expect((await run.call("apis.createApi", { name: "denied" }, key)).status).toBe(403);
      expect((await run.call("rootKeys.listKeys", { limit: 0 }, key)).status).toBe(400);
      const want = [
        ...[`api.${apiId}.read_api`, `api.${apiId}.update_key`, "api.*.read_key", "api.*.verify_key", "ratelimit.*.create_namespace"],
        ...["ratelimit.*.limit", "ratelimit.*.read_namespace", "rbac.*.read_role", "root_key.*.create_root_key"],
      ].sort();
      await eventually(async () => expect(await used(keyId)).toEqual(want));
      const mine = (await run.data("rootKeys.whoami", {}, key)).usedPermissions as { permission: string; lastUsedAt: number }[];
      expect(mine.map(({ permission }) => permission)).toEqual(want);
      for (const { lastUsedAt } of mine) {
        expect(lastUsedAt).toBeGreaterThanOrEqual(before - 60_000);
        expect(lastUsedAt).toBeLessThanOrEqual(Date.now() + 60_000);
      }
    });

    test("[management §5] for a root key that holds everything the used form is the one with *; a reroll starts again", async () => {
      const apiId = await run.createApi();
      const all = await run.api.createRootKey();
      const { keyId } = await run.data("rootKeys.whoami", {}, all);
      await run.data("apis.getApi", { apiId }, all);
      await eventually(async () => expect(await used(keyId as string)).toEqual(["api.*.read_api"]));
      const { keyId: copy } = await run.data("rootKeys.rerollKey", { keyId, expiration: null });
      expect(await used(copy as string)).toEqual([]);
    });

    test("[management §5] uses of two nodes are shown together, a change of the root key keeps them, and after 30 days they go", async () => {
      const { keyId, key } = await create({ permissions: ["api.*.read_api", "rbac.*.read_role", "rbac.*.read_permission"] });
      const apiId = await run.createApi();
      const other = await run.other();
      await Promise.all([run.data("apis.getApi", { apiId }, key), run.data("permissions.listRoles", {}, key, other)]);
      await eventually(async () => expect(await used(keyId)).toEqual(["api.*.read_api", "rbac.*.read_role"]));
      await run.data("rootKeys.updateKey", { keyId, name: "renamed" });
      expect(await used(keyId)).toEqual(["api.*.read_api", "rbac.*.read_role"]);
      const now = Date.now();
      const usedPermissions = [
        { permission: "api.*.read_api", lastUsedAt: now - 30 * DAY },
        { permission: "rbac.*.read_role", lastUsedAt: now - 30 * DAY + HOUR },
      ];
      await run.api.store.collection("rootKeys").updateOne({ _id: keyId }, { $set: { usedPermissions } });
      expect(await used(keyId)).toEqual(["rbac.*.read_role"]);
      await run.data("permissions.listPermissions", {}, key);
      await eventually(async () => expect(await used(keyId)).toEqual(["rbac.*.read_permission", "rbac.*.read_role"]));
      const stored = await run.api.store.collection("rootKeys").findOne({ _id: keyId });
      expect(stored?.usedPermissions?.length).toBe(2);
    });
  },
  ["v2", "grpc"],
  { flushUsedPermissionsEvery: 50 },
);
