// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { explainerOf } from "../../support/explanations.ts";

everywhere((run) => {
  const explain = explainerOf(run);

  describe("the key", () => {
    test("[management §8] unknown, deleted, of a deleted API, a root key: 404 key_not_found, by id and by secret", async () => {
      const [deleted, orphan] = [await run.createKey(), await run.createKey()];
      await run.data("keys.deleteKey", { keyId: deleted.keyId });
      await run.data("apis.deleteApi", { apiId: orphan.apiId });
      for (const body of [
        ...[{ keyId: "key_unknown" }, { keyId: deleted.keyId }, { keyId: orphan.keyId }],
        ...[{ key: "unknown" }, { key: deleted.key }, { key: orphan.key }, { key: run.api.rootKey }],
      ]) {
        const { detail } = expectError(await run.call("keys.explain", body), 404, "unkey/data/key_not_found");
        if ("key" in body) expect(detail).not.toContain(body.key);
      }
    });

    test("[management §8] by keyId 404, then 403 that names what is missing of verify_key and read_key", async () => {
      const { keyId, apiId } = await run.createKey();
      for (const [held, missing] of [
        [[], ["verify_key", "read_key"]],
        [["api.*.verify_key"], ["read_key"]],
        [[`api.${apiId}.read_key`], ["verify_key"]],
        [
          ["api.api_other.verify_key", "api.api_other.read_key"],
          ["verify_key", "read_key"],
        ],
      ] as const) {
        const rootKey = await run.api.createRootKey({ permissions: held });
        const { detail } = expectError(await run.call("keys.explain", { keyId }, rootKey), 403, "insufficient_permissions");
        for (const action of ["verify_key", "read_key"]) {
          expect(detail.includes(`api.${apiId}.${action} or api.*.${action}`)).toBe((missing as readonly string[]).includes(action));
        }
        expectError(await run.call("keys.explain", { keyId: "key_unknown" }, rootKey), 404, "unkey/data/key_not_found");
      }
      const enough = await run.api.createRootKey({ permissions: [`api.${apiId}.verify_key`, `api.${apiId}.read_key`] });
      expect(await run.data("keys.explain", { keyId }, enough)).toMatchObject({ keyId });
    });

    test("[management §8] by key: 403 before the look-up without either action, 404 as for an unknown one without the API's", async () => {
      const { key, keyId, apiId } = await run.createKey();
      for (const [held, missing] of [
        [[], ["api.*.verify_key", "api.*.read_key"]],
        [["api.*.verify_key"], ["api.*.read_key"]],
        [[`api.${apiId}.read_key`], ["api.*.verify_key"]],
      ] as const) {
        const rootKey = await run.api.createRootKey({ permissions: held });
        const [known, unknown] = [await run.call("keys.explain", { key }, rootKey), await run.call("keys.explain", { key: "x" }, rootKey)];
        const error = expectError(known, 403, "insufficient_permissions");
        for (const permission of missing) expect(error.detail).toContain(permission);
        expect(expectError(unknown, 403, "insufficient_permissions")).toEqual(error);
      }
      for (const held of [
        [`api.${apiId}.verify_key`, "api.api_other.read_key"],
        ["api.api_other.verify_key", "api.*.read_key"],
      ]) {
        const rootKey = await run.api.createRootKey({ permissions: held });
        const masked = expectError(await run.call("keys.explain", { key }, rootKey), 404, "unkey/data/key_not_found");
        expect(masked).toEqual(expectError(await run.call("keys.explain", { key: "unknown" }, rootKey), 404, "key_not_found"));
      }
      const enough = await run.api.createRootKey({ permissions: [`api.${apiId}.verify_key`, "api.*.read_key"] });
      expect(await run.data("keys.explain", { key }, enough)).toMatchObject({ keyId });
    });

    test("[management §8] a key of another system that was never verified is found neither by its secret nor by its id, as by verifyKey", async () => {
      const { key, keyId } = await run.createKey();
      await run.api.store.collection("keys").updateOne({ _id: keyId }, { $set: { pendingMigrationId: "mig_1" } });
      const powerless = await run.api.createRootKey({ permissions: [] });
      for (const [body, rootKey] of [[{ key }], [{ keyId }], [{ keyId }, powerless]] as const) {
        expectError(await run.call("keys.explain", body, rootKey), 404, "unkey/data/key_not_found");
      }
      expect(await run.verify(key)).toMatchObject({ code: "NOT_FOUND" });
      await run.api.store.collection("keys").updateOne({ _id: keyId }, { $unset: { pendingMigrationId: "" } });
      expect(await explain({ keyId })).toMatchObject({ code: "VALID" });
    });
  });

  describe("the request", () => {
    const refused: readonly (readonly [string, object, readonly string[]])[] = [
      ["neither keyId nor key", {}, ["body.keyId"]],
      ["both keyId and key", { keyId: "key_1", key: "x" }, ["body.keyId"]],
      ["a keyId of 2 characters", { keyId: "ab" }, ["body.keyId"]],
      ["a key of 513 characters", { key: "k".repeat(513) }, ["body.key"]],
      ["an empty query", { keyId: "key_1", permissions: "" }, ["body.permissions"]],
      ["a query of 1001 characters", { keyId: "key_1", permissions: "a".repeat(1001) }, ["body.permissions"]],
      ["credits without cost", { keyId: "key_1", credits: {} }, ["body.credits.cost"]],
      ["a limit of 0", { keyId: "key_1", ratelimits: [{ name: "abc", limit: 0 }] }, ["body.ratelimits[0].limit"]],
      ["a remoteIp that is no address", { keyId: "key_1", remoteIp: "localhost" }, ["body.remoteIp"]],
      ["a network as remoteIp", { keyId: "key_1", remoteIp: "192.0.2.0/24" }, ["body.remoteIp"]],
      ["two mistakes", { remoteIp: "1.2.3", at: 1 }, ["body.keyId", "body.remoteIp"]],
    ];
    test.each(refused)("[management §8] %s is 400", async (_, body, locations) => {
      const error = expectError(await run.call("keys.explain", body), 400, "unkey/application/invalid_input");
      expect(error.errors?.map(({ location }) => location).sort()).toEqual(locations);
    });

    test("[management §2] the bounds of the time are taken", async () => {
      const { keyId } = await run.createKey({ credits: { remaining: 0, refill: { interval: "monthly", amount: 1, refillDay: 31 } } });
      for (const at of [0, 4_102_444_800_000]) expect((await explain({ keyId, at })).at).toBe(at);
    });

    test("[management §2] a malformed query is 400, also for an unknown key", async () => {
      expectError(await run.call("keys.explain", { keyId: "key_unknown", permissions: "a AND" }), 400, "permissions_query_syntax_error");
    });

    if (run.edge !== "v2") return;
    test.each([
      ["a time before 0", { keyId: "key_1", at: -1 }, "body.at"],
      ["a time after 2099", { keyId: "key_1", at: 4_102_444_800_001 }, "body.at"],
      ["a cost above 10^12", { keyId: "key_1", credits: { cost: 1_000_000_000_001 } }, "body.credits.cost"],
      ["51 limits", { keyId: "key_1", ratelimits: Array.from({ length: 51 }, (_, i) => ({ name: `limit${i}` })) }, "body.ratelimits"],
    ])("[management §8] %s is 400", async (_, body, location) => {
      const error = expectError(await run.call("keys.explain", body), 400, "unkey/application/invalid_input");
      expect(error.errors?.map((violation) => violation.location)).toEqual([location]);
    });

    test("[management §2] other types, null and unknown fields are 400", async () => {
      for (const [place, value] of [
        ["keyId", 5],
        ["keyId", null],
        ["at", "1"],
        ["at", 1.5],
        ["at", null],
        ["remoteIp", null],
        ["remoteIp", 1],
        ["tags", []],
        ["migrationId", "mig_1"],
      ] as const) {
        const error = expectError(
          await run.call("keys.explain", { keyId: "key_1", [place]: value }),
          400,
          "unkey/application/invalid_input",
        );
        expect(error.errors?.map(({ location }) => location)).toEqual([`body.${place}`]);
      }
    });
  });
});
