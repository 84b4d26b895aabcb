import { describe, expect, test } from "vitest";
import { allPermissions } from "../../../src/platform/authorization/authorization.ts";
import { everywhere } from "../../support/everywhere.ts";
import { expectInvalid, rootKeyCalls, type ShownRootKey } from "../../support/rootKeys.ts";

const FAR = 4_102_444_800_000;

everywhere(
  (run) => {
    const { create, list, shown, expectAccepted } = rootKeyCalls(run);

    describe("rootKeys.createKey", () => {
      test("[rootkeys §2] answers an id and the secret, which works at once and is shown nowhere else", async () => {
        const made = await create({ name: "deployer", expires: FAR });
        expect(made).toEqual({
          keyId: expect.stringMatching(/^rk_[a-zA-Z0-9]{16,}$/),
          key: expect.stringMatching(/^lkr_[a-zA-Z0-9]{38}$/),
        });
        await expectAccepted(made.key);
        expect(JSON.stringify(await list())).not.toContain(made.key.slice(8, -4));
        const stored = await run.api.store.collection("rootKeys").findOne({ _id: made.keyId });
        expect(JSON.stringify(stored)).not.toContain(made.key.slice(8, -4));
        expect(JSON.stringify(await list())).not.toContain(stored?.hash);
      });

      test("[rootkeys §2] repeated permissions count once, `apis` becomes `api`, and the list is sorted", async () => {
        const permissions = ["rbac.*.read_role", "apis.*.read_api", "api.*.read_api", "api.api_1.create_key", "rbac.*.read_role"];
        const { keyId } = await create({ permissions });
        expect((await shown(keyId)).permissions).toEqual(["api.*.read_api", "api.api_1.create_key", "rbac.*.read_role"]);
      });

      test("[rootkeys §2] every permission that is none is 400 at its place, all at once", async () => {
        const permissions = [
          "api.*.read_api",
          "*",
          "api.*.*",
          "api.ab*.read_api",
          "api.read_api",
          "nothing.*.read",
          "api.*.fly",
          "rbac.role_1.read_role",
          "root_key.rk_1.create_root_key",
          "API.*.read_api",
          "api.*.read_api\n",
          "unkey:v1:ws_1:apis/*#read",
        ];
        const places = permissions.slice(1).map((_, i) => `body.permissions[${i + 1}]`);
        expectInvalid(await run.call("rootKeys.createKey", { permissions }), ...places);
        expectInvalid(await run.call("rootKeys.createKey", { permissions: ["x"], expires: 1 }), "body.permissions[0]", "body.expires");
      });

      test("[rootkeys §2] 1 to 1000 permissions", async () => {
        const many = Array.from({ length: 1_001 }, (_, i) => `api.api_${i}.read_api`);
        const { keyId } = await create({ permissions: many.slice(1) });
        expect((await shown(keyId)).permissions).toHaveLength(1_000);
        // Clients of gRPC would need a message that their own codec refuses to make; the validator's tests have those.
        if (run.edge === "v2") expectInvalid(await run.call("rootKeys.createKey", { permissions: many }), "body.permissions");
        expectInvalid(await run.call("rootKeys.createKey", { permissions: [] }), "body.permissions");
      });

      test("[rootkeys §2] a name is 1 to 255 characters, kept as sent", async () => {
        for (const name of ["n", " ", "n".repeat(255), "😀".repeat(255)]) {
          expect((await shown((await create({ name })).keyId)).name).toBe(name);
        }
        for (const name of ["", "n".repeat(256), "😀".repeat(256)]) {
          expectInvalid(await run.call("rootKeys.createKey", { permissions: ["api.*.read_api"], name }), "body.name");
        }
      });

      test("[rootkeys §2] an expiry lies strictly in the future and at most at 4102444800000; null is none", async () => {
        for (const expires of [0, 1, Date.now() - 1_000, FAR + 1]) {
          expectInvalid(await run.call("rootKeys.createKey", { permissions: ["api.*.read_api"], expires }), "body.expires");
        }
        expect((await shown((await create({ expires: FAR })).keyId)).expires).toBe(FAR);
        expect((await shown((await create({ expires: null })).keyId)).expires).toBeNull();
        expect((await shown((await create()).keyId)).expires).toBeNull();
      });
    });

    describe("rootKeys.listKeys", () => {
      test("[rootkeys §2] shows ten fields, always: null for no name and no expiry, 0 for never used", async () => {
        const before = Date.now();
        const { keyId, key } = await create();
        const root = await shown(keyId);
        expect(root).toEqual({
          keyId,
          name: null,
          start: key.slice(0, 8),
          end: key.slice(-4),
          enabled: true,
          createdAt: expect.any(Number),
          lastUsedAt: 0,
          expires: null,
          permissions: ["api.*.read_api"],
          usedPermissions: [],
        });
        expect(root.createdAt).toBeGreaterThanOrEqual(before - 1_000);
      });

      test("[rootkeys §2] a root key that holds everything lists every triple in its `*` form", async () => {
        const key = await run.api.createRootKey({ name: run.unique("everything") });
        const found = (await list()).find(({ end, start }) => key.startsWith(start) && key.endsWith(end));
        expect(found?.permissions).toEqual(allPermissions);
        expect(found?.permissions).toContain("root_key.*.create_root_key");
      });

      test("[rootkeys §2] lists disabled and expired ones, and no deleted ones", async () => {
        const [disabled, expired, deleted] = [await create(), await create(), await create()];
        await run.data("rootKeys.updateKey", { keyId: disabled.keyId, enabled: false });
        await run.data("rootKeys.rerollKey", { keyId: expired.keyId, expiration: 0 });
        await run.data("rootKeys.deleteKey", { keyId: deleted.keyId });
        expect(await shown(disabled.keyId)).toMatchObject({ enabled: false });
        expect((await shown(expired.keyId)).expires).toBeLessThanOrEqual(Date.now());
        expect((await list()).map(({ keyId }) => keyId)).not.toContain(deleted.keyId);
      });

      test("[rootkeys §2] pages ascend by id; a caller sees those it may read, none is an empty page", async () => {
        const made = [await create(), await create(), await create()].map(({ keyId }) => keyId).sort();
        const some = await run.api.createRootKey({
          permissions: [...made.map((keyId) => `root_key.${keyId}.read_root_key`), "root_key.rk_gone.read_root_key"],
        });
        const first = await run.call("rootKeys.listKeys", { limit: 2 }, some);
        expect((first.body.data as ShownRootKey[]).map(({ keyId }) => keyId)).toEqual(made.slice(0, 2));
        expect(first.body.pagination).toEqual({ hasMore: true, cursor: expect.any(String) });
        const second = await run.call("rootKeys.listKeys", { limit: 2, cursor: first.body.pagination?.cursor }, some);
        expect((second.body.data as ShownRootKey[]).map(({ keyId }) => keyId)).toEqual(made.slice(2));
        expect(second.body.pagination).toEqual({ hasMore: false });
        const full = await run.call("rootKeys.listKeys", { limit: 3 }, some);
        expect(full.body.pagination).toEqual({ hasMore: false });

        const ids = (await list()).map(({ keyId }) => keyId);
        expect(ids).toEqual([...ids].sort());
        const blind = await run.api.createRootKey({ permissions: ["root_key.*.update_root_key", "root_key.*.delete_root_key"] });
        const nothing = await run.call("rootKeys.listKeys", {}, blind);
        expect([nothing.status, nothing.body.data, nothing.body.pagination]).toEqual([200, [], { hasMore: false }]);
        for (const limit of [0, 101]) expectInvalid(await run.call("rootKeys.listKeys", { limit }), "body.limit");
      });
    });
  },
  ["v2", "grpc", "grpc-js"],
);
