// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { dataOf, expectError } from "../../support/api.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";

/** Long enough that no window ends while a test runs. */
const MONTH = 2_592_000_000;
const NOT_FOUND = { valid: false, code: "NOT_FOUND" };
const PAST = 1_000_000_000_000;
const FAR = 4_102_444_800_000;

everywhere((run: Run) => {
  describe("the order of outcomes", () => {
    test("[verify §6] NOT_FOUND > DISABLED > EXPIRED > INSUFFICIENT_PERMISSIONS > 412 > RATE_LIMITED > USAGE_EXCEEDED > VALID", async () => {
      const { key, keyId } = await run.createKey({
        enabled: false,
        expires: PAST,
        credits: { remaining: 0 },
        ratelimits: [{ name: "full", limit: 1, duration: MONTH, autoApply: true }],
      });
      const code = async (fields: object = {}) => (await run.verify(key, fields)).code;
      const update = (fields: object) => run.data("keys.updateKey", { keyId, ...fields });
      const missing = { permissions: "not.held" };
      const unknown = { ratelimits: [{ name: "unknown" }] };

      expect(await code({ ...missing, ...unknown, keyspaces: ["api_other"] })).toBe("NOT_FOUND");
      expect(await code({ ...missing, ...unknown })).toBe("DISABLED");
      await update({ enabled: true });
      expect(await code({ ...missing, ...unknown })).toBe("EXPIRED");
      await update({ expires: null });
      expect(await code({ ...missing, ...unknown })).toBe("INSUFFICIENT_PERMISSIONS");
      expectError(await run.call("keys.verifyKey", { key, ...unknown }), 412, "application/precondition_failed");
      // None of these has touched the limit: the first call that reaches it finds it empty, and is charged on it.
      expect(await code()).toBe("USAGE_EXCEEDED");
      expect(await code()).toBe("RATE_LIMITED");
      expectError(await run.call("keys.verifyKey", { key, ...unknown }), 412, "application/precondition_failed");
      await update({ ratelimits: null });
      expect(await code()).toBe("USAGE_EXCEEDED");
      await update({ credits: null });
      expect(await code()).toBe("VALID");
      await run.data("keys.deleteKey", { keyId });
      expect(await code()).toBe("NOT_FOUND");
    });
  });

  describe("the fields of each outcome", () => {
    /** A key on which everything is set, and what every outcome but NOT_FOUND shows of it. */
    const fullKey = async () => {
      const role = run.unique("role");
      const [direct, inherited, both] = [run.unique("b.direct"), run.unique("a.role"), run.unique("c.both")];
      await run.data("permissions.createRole", { name: role, permissions: [inherited, both, `${both}.*`] });
      const { key, keyId, apiId } = await run.createKey({
        name: "full",
        meta: { plan: "pro", "a.b": { $set: null }, "": [] },
        expires: FAR,
        externalId: run.unique("user").replaceAll("-", "_"),
        permissions: [direct, both],
        roles: [role],
        credits: { remaining: 5 },
        ratelimits: [
          { name: "shadowed", limit: 7, duration: MONTH },
          { name: "requests", limit: 3, duration: MONTH, autoApply: true },
        ],
      });
      const identity = (await run.getKey(keyId)).identity as { id: string; externalId: string };
      const limit = (name: string) => ({ id: `rl_limitOfTheIdentity${name}`, name, limit: 9, duration: MONTH, autoApply: false });
      await run.api.store
        .collection("identities")
        .updateOne({ _id: identity.id }, { $set: { meta: '{"tier":1}', ratelimits: [limit("shadowed"), limit("ofIdentity")] } });
      const shown = {
        keyId,
        keyspaceId: apiId,
        enabled: true,
        name: "full",
        meta: { plan: "pro", "a.b": { $set: null }, "": [] },
        expires: FAR,
        credits: 5,
        permissions: [inherited, direct, both, `${both}.*`].sort(),
        roles: [role],
        identity: { ...identity, meta: { tier: 1 }, ratelimits: [limit("ofIdentity")] },
      };
      return { key, keyId, direct, shown };
    };
    const requests = (rest: object) => [
      {
        id: expect.stringMatching(/^rl_/),
        name: "requests",
        limit: 3,
        duration: MONTH,
        autoApply: true,
        reset: expect.any(Number),
        ...rest,
      },
    ];

    test("[verify §3] each outcome but NOT_FOUND shows the whole key; ratelimits are there when they were evaluated", async () => {
      const { key, keyId, shown } = await fullKey();
      const failed = (code: string, rest: object = {}) => ({ valid: false, code, ...shown, ...rest });

      await run.data("keys.updateKey", { keyId, enabled: false });
      expect(await run.verify(key)).toEqual(failed("DISABLED", { enabled: false }));
      await run.data("keys.updateKey", { keyId, enabled: true, expires: PAST });
      expect(await run.verify(key)).toEqual(failed("EXPIRED", { expires: PAST }));
      await run.data("keys.updateKey", { keyId, expires: FAR });
      expect(await run.verify(key, { permissions: "not.held" })).toEqual(failed("INSUFFICIENT_PERMISSIONS"));

      // The balance is shown as it is, not 0, and the limit is charged all the same.
      expect(await run.verify(key, { credits: { cost: 15 } })).toEqual(
        failed("USAGE_EXCEEDED", { credits: 5, ratelimits: requests({ exceeded: false, remaining: 2 }) }),
      );
      expect(await run.verify(key, { credits: { cost: 2 } })).toEqual({
        ...shown,
        valid: true,
        code: "VALID",
        credits: 3,
        ratelimits: requests({ exceeded: false, remaining: 1 }),
      });
      expect(await run.verify(key, { ratelimits: [{ name: "requests", cost: 2 }] })).toEqual(
        failed("RATE_LIMITED", { credits: 3, ratelimits: requests({ exceeded: true, remaining: 0 }) }),
      );
      // Neither tokens nor credits were spent by that.
      expect(await run.verify(key)).toMatchObject({ code: "VALID", credits: 2, ratelimits: requests({ exceeded: false, remaining: 0 }) });
    });

    test("[verify §3] a key on which nothing is set shows nothing but its id, its API and that it is enabled", async () => {
      const { key, keyId, apiId } = await run.createKey();
      expect(await run.verify(key)).toEqual({ valid: true, code: "VALID", keyId, keyspaceId: apiId, enabled: true });
    });

    test("[verify §3] empty metadata is absent, an identity without metadata and limits shows its ids, 0 credits and expires 0 are shown", async () => {
      const externalId = run.unique("user").replaceAll("-", "_");
      const { key, keyId, apiId } = await run.createKey({ meta: {}, externalId, credits: { remaining: 0 } });
      const shown = {
        valid: false,
        keyId,
        keyspaceId: apiId,
        enabled: true,
        credits: 0,
        identity: { id: expect.stringMatching(/^id_/), externalId },
      };
      expect(await run.verify(key)).toEqual({ ...shown, code: "USAGE_EXCEEDED" });
      await run.data("keys.updateKey", { keyId, expires: 0 });
      expect(await run.verify(key)).toEqual({ ...shown, code: "EXPIRED", expires: 0 });
    });

    test("[verify §3] permissions and roles are returned whether or not a query was sent, wildcards as granted", async () => {
      const { key, direct, shown } = await fullKey();
      for (const fields of [{}, { permissions: direct }, { permissions: "not.held" }]) {
        expect(await run.verify(key, fields)).toMatchObject({ permissions: shown.permissions, roles: shown.roles });
      }
    });

    test("[verify §10] a verification, whatever its outcome, changes neither updatedAt nor any other field of the key", async () => {
      const { key, keyId } = await run.createKey({ credits: { remaining: 1 } });
      const before = await run.getKey(keyId);
      await run.verify(key, { permissions: "not.held" });
      expect((await run.verify(key)).code).toBe("VALID");
      expect((await run.verify(key)).code).toBe("USAGE_EXCEEDED");
      const { lastUsedAt: _lastUsedAt, ...after } = await run.getKey(keyId);
      expect(after).toEqual({ ...before, credits: { remaining: 0 } });
    });
  });

  describe("NOT_FOUND", () => {
    test("[verify §3] carries only valid and code, for every cause", async () => {
      const { key, keyId, apiId } = await run.createKey();
      expect(await run.verify("never_issued")).toEqual(NOT_FOUND);
      expect(await run.verify(run.api.rootKey)).toEqual(NOT_FOUND);
      expect(await run.verify(key, { keyspaces: ["api_other"] })).toEqual(NOT_FOUND);
      for (const permanent of [false, true]) {
        const deleted = await run.createKey({ apiId });
        await run.data("keys.deleteKey", { keyId: deleted.keyId, permanent });
        expect(await run.verify(deleted.key)).toEqual(NOT_FOUND);
      }
      expect((await run.verify(key)).keyId).toBe(keyId);
      await run.data("apis.deleteApi", { apiId });
      expect(await run.verify(key)).toEqual(NOT_FOUND);
    });

    test("[verify §2] a key is compared exactly: no trimming, no case folding, prefix included", async () => {
      const { key } = await run.createKey({ prefix: "Abc" });
      for (const other of [` ${key}`, `${key} `, `${key}\n`, key.toLowerCase(), key.slice(4), `${key}x`]) {
        expect(await run.verify(other), JSON.stringify(other)).toEqual(NOT_FOUND);
      }
      expect((await run.verify(key)).code).toBe("VALID");
    });

    test("[verify §6] the permissions of a root key do not come into it: it is an end-user key or nothing", async () => {
      const scoped = await run.api.createRootKey({ permissions: ["api.*.verify_key"] });
      expect(await run.verify(scoped)).toEqual(NOT_FOUND);
    });

    test("[verify §2] keyspaces restrict to the APIs named; naming the key's own changes nothing", async () => {
      const { key, apiId } = await run.createKey({ credits: { remaining: 5 } });
      expect(await run.verify(key, { keyspaces: ["api_other", apiId] })).toMatchObject({ code: "VALID", credits: 4 });
      expect(await run.verify(key, { keyspaces: [apiId.toLowerCase()] })).toEqual(NOT_FOUND);
      expect(await run.verify(key, { keyspaces: ["*"] })).toEqual(NOT_FOUND);
      expect(await run.verify(key)).toMatchObject({ credits: 3 });
    });
  });

  describe("the caller's permission", () => {
    const verifyAs = async (permissions: readonly string[], key: string) =>
      run.call("keys.verifyKey", { key }, await run.api.createRootKey({ permissions }));

    test("[verify §1] without verify_key for anything it is 403 naming it, the same for known and unknown keys", async () => {
      const { key, apiId } = await run.createKey();
      for (const permissions of [[], ["api.*.read_key", "api.*.create_key"], [`api.${apiId}.read_api`]]) {
        const answers = await Promise.all([verifyAs(permissions, key), verifyAs(permissions, "unknown")]);
        const errors = answers.map((answer) => expectError(answer, 403, "unkey/authorization/insufficient_permissions"));
        expect(errors[0]?.detail).toContain("api.*.verify_key");
        expect(errors[0]).toEqual(errors[1]);
      }
    });

    test("[verify §1] with verify_key for other APIs only, a key is as unknown as one that does not exist, and nothing is spent", async () => {
      const { key } = await run.createKey({
        credits: { remaining: 1 },
        ratelimits: [{ name: "once", limit: 1, duration: MONTH, autoApply: true }],
      });
      const other = [`api.${await run.createApi()}.verify_key`];
      expect(dataOf(await verifyAs(other, key))).toEqual(NOT_FOUND);
      expect(dataOf(await verifyAs(other, "unknown"))).toEqual(NOT_FOUND);
      expect(await run.verify(key)).toMatchObject({ code: "VALID", credits: 0 });
    });

    test("[verify §1] verify_key for the key's API or for all is enough", async () => {
      const { key, apiId } = await run.createKey();
      for (const permission of [`api.${apiId}.verify_key`, "api.*.verify_key", `apis.${apiId}.verify_key`]) {
        expect(dataOf(await verifyAs([permission], key)).code).toBe("VALID");
      }
    });

    test("[protocol §7] an ordinary key is no root key, whatever it may do", async () => {
      const { key } = await run.createKey({ permissions: ["api.*.verify_key"] });
      expectError(await run.call("keys.verifyKey", { key }, key), 401, "unkey/authentication/key_not_found");
    });
  });
});
