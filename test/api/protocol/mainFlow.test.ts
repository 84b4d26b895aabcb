import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer, Edge } from "../../../bench/harness/v2Edge.ts";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { engines } from "../../support/stores.ts";

const edgeNames: readonly Edge["name"][] = ["v2", "connect", "grpc", "grpc-web", "grpc-js"];

describe.each(engines)("on $name", (engine) => {
  let api: Api;
  beforeAll(async () => {
    api = await startApi(engine);
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  describe.each(edgeNames)("over %s", (edgeName) => {
    const call = (procedure: string, body: unknown, rootKey: string | undefined = api.rootKey): Promise<Answer> => {
      const edge = api.edges.find(({ name }) => name === edgeName);
      if (!edge) throw new Error(`there is no edge ${edgeName}`);
      return edge.call(procedure, body, rootKey);
    };

    test("a key is issued, changed, verified, limited and deleted", async () => {
      const { apiId } = dataOf(await call("apis.createApi", { name: "main job" }));
      expect(dataOf(await call("apis.getApi", { apiId }))).toEqual({ id: apiId, name: "main job" });
      const role = `editor-${edgeName}`;
      dataOf(await call("permissions.createPermission", { name: "Read", slug: `docs.read.${edgeName}` }));
      dataOf(await call("permissions.createRole", { name: role, permissions: [`docs.write.${edgeName}`] }));

      const { keyId, key } = dataOf(
        await call("keys.createKey", {
          apiId,
          prefix: "my_app",
          name: "first",
          externalId: "user_1",
          meta: { plan: "pro", "a.b": { $set: null } },
          roles: [role],
          permissions: [`docs.read.${edgeName}`],
          credits: { remaining: 3, refill: { interval: "MONTHLY", amount: 5, refillDay: 31 } },
          ratelimits: [{ name: "requests", limit: 10, duration: 60_000, autoApply: true }],
        }),
      );
      expect(key).toMatch(/^my_app_[1-9A-HJ-NP-Za-km-z]{20,22}$/);

      const shown = dataOf(await call("keys.getKey", { keyId }));
      expect(shown).toEqual({
        keyId,
        start: (key as string).slice(0, 11),
        enabled: true,
        createdAt: expect.any(Number),
        name: "first",
        meta: { plan: "pro", "a.b": { $set: null } },
        permissions: [`docs.read.${edgeName}`, `docs.write.${edgeName}`],
        roles: [role],
        credits: { remaining: 3, refill: { interval: "monthly", amount: 5, refillDay: 31 } },
        identity: { id: expect.stringMatching(/^id_/), externalId: "user_1" },
        ratelimits: [{ id: expect.stringMatching(/^rl_/), name: "requests", limit: 10, duration: 60_000, autoApply: true }],
      });

      const verified = dataOf(await call("keys.verifyKey", { key, permissions: `docs.read.${edgeName} AND docs.write.${edgeName}` }));
      expect(verified).toMatchObject({ valid: true, code: "VALID", keyId, keyspaceId: apiId, credits: 2, roles: [role] });
      expect(verified.ratelimits).toEqual([
        expect.objectContaining({ name: "requests", limit: 10, remaining: 9, exceeded: false, autoApply: true }),
      ]);
      expect(dataOf(await call("keys.verifyKey", { key, permissions: "docs.delete" }))).toMatchObject({
        valid: false,
        code: "INSUFFICIENT_PERMISSIONS",
      });

      expect(dataOf(await call("keys.updateKey", { keyId, enabled: false, name: null, meta: null, credits: null }))).toEqual({});
      const disabled = dataOf(await call("keys.verifyKey", { key }));
      expect(disabled).toMatchObject({ valid: false, code: "DISABLED", enabled: false });
      expect(disabled).not.toHaveProperty("name");
      expect(disabled).not.toHaveProperty("credits");

      dataOf(await call("keys.deleteKey", { keyId }));
      expect(dataOf(await call("keys.verifyKey", { key }))).toEqual({ valid: false, code: "NOT_FOUND" });
      expectError(await call("keys.getKey", { keyId }), 404, "unkey/data/key_not_found");
      expectError(await call("keys.deleteKey", { keyId }), 404, "unkey/data/key_not_found");

      const limited = { namespace: `emails-${edgeName}`, identifier: "user_1", limit: 2, duration: 60_000 };
      expect(dataOf(await call("ratelimit.limit", limited))).toMatchObject({ success: true, limit: 2, remaining: 1 });
      expect(dataOf(await call("ratelimit.limit", limited))).toMatchObject({ success: true, remaining: 0 });
      expect(dataOf(await call("ratelimit.limit", limited))).toMatchObject({ success: false, remaining: 0 });

      dataOf(await call("apis.deleteApi", { apiId }));
      expectError(await call("apis.getApi", { apiId }), 404, "unkey/data/api_not_found");
    });

    test("[protocol §6] every violation of a body is reported at its place", async () => {
      const error = expectError(
        await call("keys.createKey", {
          apiId: "x",
          name: "",
          ratelimits: [
            { name: "ok1", limit: 1, duration: 1000 },
            { name: "requests", limit: 0, duration: 10 },
          ],
        }),
        400,
        "unkey/application/invalid_input",
      );
      expect(error.errors?.map(({ location }) => location).sort()).toEqual([
        "body.apiId",
        "body.name",
        "body.ratelimits[1].duration",
        "body.ratelimits[1].limit",
      ]);
    });

    test("[protocol §7] a call without a root key, with a malformed or an unknown one is 401", async () => {
      const edge = api.edges.find(({ name }) => name === edgeName) as Edge;
      expectError(await edge.call("apis.createApi", { name: "refused" }, undefined), 401, "unkey/authentication/missing");
      expectError(await call("apis.createApi", { name: "refused" }, "lkr_wrong"), 401, "unkey/authentication/key_not_found");
    });

    test("[protocol §8] a 403 names the missing permission", async () => {
      const weak = await api.createRootKey({ permissions: ["api.*.read_api"] });
      const error = expectError(
        await call("apis.createApi", { name: "refused" }, weak),
        403,
        "unkey/authorization/insufficient_permissions",
      );
      expect(error.detail).toContain("api.*.create_api");
    });
  });
});
