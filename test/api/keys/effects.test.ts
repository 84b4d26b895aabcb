import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";

const FAR = 4_102_444_800_000;

everywhere((run) => {
  const update = (keyId: string, fields: object): Promise<unknown> => run.data("keys.updateKey", { keyId, ...fields });
  const codeOf = async (key: string, fields?: object): Promise<unknown> => (await run.verify(key, fields)).code;

  describe("updateKey and the next verification", () => {
    test("[keys §3] enabled false gives DISABLED whatever else holds, and costs nothing", async () => {
      const { keyId, key } = await run.createKey({
        credits: { remaining: 1 },
        ratelimits: [{ name: "requests", limit: 1, duration: FAR, autoApply: true }],
      });
      await update(keyId, { enabled: false });
      for (const fields of [{}, { permissions: "not.held" }]) expect(await codeOf(key, fields)).toBe("DISABLED");
      await update(keyId, { expires: 1 });
      expect(await codeOf(key)).toBe("DISABLED");
      await update(keyId, { expires: null, enabled: true });
      expect(await codeOf(key)).toBe("VALID");
      expect(await codeOf(key)).toBe("RATE_LIMITED");
      await update(keyId, { enabled: false });
      expect(await codeOf(key)).toBe("DISABLED");
      await update(keyId, { enabled: true, ratelimits: null });
      expect(await codeOf(key)).toBe("USAGE_EXCEEDED");
      await update(keyId, { enabled: false });
      expect(await codeOf(key)).toBe("DISABLED");
    });

    test("[keys §3] expires in the past gives EXPIRED at once, null makes the key valid again", async () => {
      const { keyId, key } = await run.createKey({ credits: { remaining: 2 } });
      expect(await codeOf(key)).toBe("VALID");
      await update(keyId, { expires: 1 });
      expect(await codeOf(key)).toBe("EXPIRED");
      await update(keyId, { expires: null });
      expect(await codeOf(key)).toBe("VALID");
      expect(await run.getKey(keyId)).toMatchObject({ credits: { remaining: 0 } });
    });

    test("[keys §3] a new remaining is the balance that the next verification spends from", async () => {
      const { keyId, key } = await run.createKey();
      expect(await run.verify(key)).not.toHaveProperty("credits");
      await update(keyId, { credits: { remaining: 2 } });
      expect(await run.verify(key)).toMatchObject({ code: "VALID", credits: 1 });
      await update(keyId, { credits: { remaining: 5 } });
      expect(await run.verify(key, { credits: { cost: 5 } })).toMatchObject({ code: "VALID", credits: 0 });
      expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED", credits: 0 });
      await update(keyId, { credits: {} });
      expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED", credits: 0 });
      await update(keyId, { credits: null });
      expect(await run.verify(key)).toMatchObject({ code: "VALID" });
      await update(keyId, { credits: { remaining: 0 } });
      expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED", credits: 0 });
    });

    test("[keys §3] a refill removed with null does not come back when credits are set again", async () => {
      const { keyId } = await run.createKey({ credits: { remaining: 2, refill: { interval: "daily", amount: 1 } } });
      await update(keyId, { credits: null });
      await update(keyId, { credits: { remaining: 1 } });
      expect((await run.getKey(keyId)).credits).toEqual({ remaining: 1 });
    });

    test("[keys §3] changed roles and permissions decide the next permission query", async () => {
      const role = run.unique("writer");
      await run.data("permissions.createRole", { name: role, permissions: [`${role}.write`] });
      const { keyId, key } = await run.createKey({ permissions: [`${role}.*`] });
      const query = { permissions: `${role}.read AND ${role}.write` };
      expect(await codeOf(key, query)).toBe("VALID");
      await update(keyId, { permissions: [], roles: [role] });
      expect(await codeOf(key, query)).toBe("INSUFFICIENT_PERMISSIONS");
      expect(await codeOf(key, { permissions: `${role}.write` })).toBe("VALID");
      await update(keyId, { roles: [] });
      expect(await codeOf(key, { permissions: `${role}.write` })).toBe("INSUFFICIENT_PERMISSIONS");
    });
  });

  describe("the objects that keys refer to", () => {
    test("[keys §1.7] a deleted identity is never revived: keys lose it, and its externalId makes a new one", async () => {
      const externalId = run.unique("user");
      const { keyId, key } = await run.createKey({ externalId });
      const { identity } = (await run.getKey(keyId)) as { identity: { id: string } };
      await run.data("identities.deleteIdentity", { identity: externalId });
      expect(await run.getKey(keyId)).not.toHaveProperty("identity");
      const again = await run.createKey({ externalId });
      const fresh = (await run.getKey(again.keyId)) as { identity: { id: string } };
      expect(fresh.identity.id).not.toBe(identity.id);
      expect(await run.getKey(keyId)).not.toHaveProperty("identity");
      expect(await run.verify(key)).not.toHaveProperty("identity");
      await update(keyId, { externalId });
      expect(await run.getKey(keyId)).toMatchObject({ identity: fresh.identity });
    });

    test("[keys §1.7] keys made while their identity is deleted again and again all come to be", async () => {
      const externalId = run.unique("user");
      const apiId = await run.createApi();
      const calls = Array.from({ length: 12 }, (_, i) =>
        i % 3 === 0 ? run.call("identities.deleteIdentity", { identity: externalId }) : run.call("keys.createKey", { apiId, externalId }),
      );
      for (const [i, { status }] of (await Promise.all(calls)).entries()) expect(i % 3 === 0 ? [200, 404] : [200]).toContain(status);
      const live = await run.api.store.collection("identities").find({ externalId }).toArray();
      expect(live.length).toBeLessThanOrEqual(1);
    });

    test("[apis deleteApi] keys made while their API is deleted are refused or gone, never half there", async () => {
      const apiId = await run.createApi();
      const calls = Array.from({ length: 10 }, (_, i) =>
        i === 5 ? run.call("apis.deleteApi", { apiId }) : run.call("keys.createKey", { apiId, name: `key ${i}` }),
      );
      const answers = await Promise.all(calls);
      expect(answers[5]?.status).toBe(200);
      for (const answer of answers) {
        expect([200, 404]).toContain(answer.status);
        const { key, keyId } = (answer.body.data ?? {}) as { key?: string; keyId?: string };
        if (key === undefined) continue;
        expect(await run.verify(key)).toEqual({ valid: false, code: "NOT_FOUND" });
        expectError(await run.call("keys.getKey", { keyId }), 404, "unkey/data/key_not_found");
      }
    });
  });

  test("[protocol §7] an ordinary key that is spelled like a root key is none, and verifies like any other", async () => {
    const { key } = await run.createKey({ prefix: "lkr", permissions: ["api.*.create_api"] });
    expect(await run.verify(key)).toMatchObject({ valid: true });
    expectError(await run.call("apis.createApi", { name: "refused" }, key), 401, "unkey/authentication/key_not_found");
    expect(await run.verify(run.api.rootKey)).toEqual({ valid: false, code: "NOT_FOUND" });
  });
});
