import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsIn } from "../../support/written.ts";

everywhere((run) => {
  describe("keys.deleteKey", () => {
    test.each([undefined, false, true])("[keys §5] with permanent %s the key is gone at once, for every procedure", async (permanent) => {
      const { keyId, key } = await run.createKey({ credits: { remaining: 5 }, externalId: "user_1" });
      expect(await run.verify(key)).toMatchObject({ valid: true });
      expect(await run.data("keys.deleteKey", { keyId, ...(permanent === undefined ? {} : { permanent }) })).toEqual({});
      expect(await run.verify(key)).toEqual({ valid: false, code: "NOT_FOUND" });
      for (const procedure of ["keys.getKey", "keys.updateKey", "keys.deleteKey"]) {
        expectError(await run.call(procedure, { keyId }), 404, "unkey/data/key_not_found");
      }
      expectError(await run.call("keys.deleteKey", { keyId, permanent: true }), 404, "unkey/data/key_not_found");
    });

    test.each([
      ["disabled", { enabled: false }],
      ["expired", { expires: 1 }],
      ["exhausted", { credits: { remaining: 0 } }],
    ])("[keys §1.2] a key that is %s is live: it can be read, updated and deleted", async (_, fields) => {
      const { keyId } = await run.createKey(fields);
      expect(await run.getKey(keyId)).toMatchObject(fields);
      await run.data("keys.updateKey", { keyId, name: "still there" });
      await run.data("keys.deleteKey", { keyId });
    });

    test("[keys §5] by default the row stays for history and blocks its hash", async () => {
      const { keyId } = await run.createKey({ name: "history" });
      const before = await run.api.store.collection("keys").findOne({ _id: keyId });
      await run.data("keys.deleteKey", { keyId });
      const after = await run.api.store.collection("keys").findOne({ _id: keyId });
      expect(after).toMatchObject({ name: "history", hash: before?.hash, deletedAt: expect.any(Number) });
    });

    test("[keys §5] permanent erases hash, limits and links; the events stay", async () => {
      const [role, slug] = [run.unique("role"), run.unique("slug")];
      await run.data("permissions.createRole", { name: role });
      const { keyId } = await run.createKey({
        name: "secret name",
        meta: { secret: "meta" },
        externalId: run.unique("user"),
        roles: [role],
        permissions: [slug],
        ratelimits: [{ name: "requests", limit: 1, duration: 1000 }],
      });
      await run.data("keys.deleteKey", { keyId, permanent: true });
      // The row itself goes with its last event, sooner or later.
      const left = await run.api.store.collection("keys").findOne({ _id: keyId });
      for (const field of ["hash", "name", "meta", "identityId"]) expect(left ?? {}).not.toHaveProperty(field);
      if (left) expect(left).toMatchObject({ roleIds: [], permissionIds: [], ratelimits: [] });
      const names = (await eventsIn(run.api.store)).filter(({ resources }) => resources[0]?.id === keyId).map(({ event }) => event);
      expect(names).toEqual(expect.arrayContaining(["key.create", "key.delete"]));
    });

    test("[keys §5] identity, roles and permissions themselves stay", async () => {
      const [role, slug, externalId] = [run.unique("role"), run.unique("slug"), run.unique("user")];
      await run.data("permissions.createRole", { name: role, permissions: [slug] });
      const kept = await run.createKey({ roles: [role], permissions: [slug], externalId });
      const before = await run.getKey(kept.keyId);
      for (const permanent of [false, true]) {
        const { keyId } = await run.createKey({ roles: [role], permissions: [slug], externalId });
        await run.data("keys.deleteKey", { keyId, permanent });
      }
      expect(await run.getKey(kept.keyId)).toEqual(before);
      expect(await run.verify(kept.key)).toMatchObject({ valid: true, roles: [role], permissions: [slug], identity: { externalId } });
    });
  });

  describe("keys.getKey", () => {
    test("[keys §4] reading changes neither credits nor rate limits nor anything else", async () => {
      const { keyId, key } = await run.createKey({
        credits: { remaining: 2 },
        ratelimits: [{ name: "requests", limit: 2, duration: 4_102_444_800_000, autoApply: true }],
      });
      const first = await run.getKey(keyId);
      for (const _ of [1, 2, 3]) expect(await run.getKey(keyId)).toEqual(first);
      expect(await run.verify(key)).toMatchObject({ credits: 1, ratelimits: [{ remaining: 1 }] });
      expect(await run.getKey(keyId)).toMatchObject({ credits: { remaining: 1 } });
    });

    test("[keys §1.8] a key's own rate limits are separate from those of its identity; absent is absent, not empty", async () => {
      const { keyId } = await run.createKey({ externalId: run.unique("user") });
      const shown = await run.getKey(keyId);
      for (const field of ["ratelimits", "roles", "permissions", "meta", "name", "expires", "credits", "plaintext"]) {
        expect(shown).not.toHaveProperty(field);
      }
      expect(Object.keys(shown.identity as object).sort()).toEqual(["externalId", "id"]);
    });

    test.each([
      [
        "any property names",
        { "": 0, "a.b": 1, $set: { $inc: { x: 1 } }, constructor: "c", toString: null, hasOwnProperty: [], "\u0000": "\u0000", é: "é" },
      ],
      [
        "__proto__ as a property",
        JSON.parse('{"__proto__": {"admin": true}, "nested": {"__proto__": "text", "__proto__x": [{"__proto__": 1}]}}'),
      ],
      ["fifty levels", Array.from({ length: 50 }).reduce<object>((inner) => ({ inner }), { leaf: [[[[]]]] })],
      [
        "every kind of value",
        { n: null, t: true, f: false, i: -0.5, big: 1e300, tiny: 5e-324, max: Number.MAX_SAFE_INTEGER, e: {}, l: [null, {}, []] },
      ],
      ["more than 100 properties", Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`p${i}`, i]))],
      [
        "text that looks like JSON",
        { json: '{"a":1}', date: "2020-01-01T00:00:00Z", oid: { $oid: "507f1f77bcf86cd799439011" }, n: { $numberLong: "1" } },
      ],
    ])("[protocol §3] meta with %s comes back deep-equal, from getKey and verifyKey", async (_, meta) => {
      const created = await run.createKey({ meta });
      const updated = await run.createKey({ meta: { other: 1 } });
      await run.data("keys.updateKey", { keyId: updated.keyId, meta });
      for (const { keyId, key } of [created, updated]) {
        expect(JSON.stringify((await run.getKey(keyId)).meta)).toBe(JSON.stringify(meta));
        expect(JSON.stringify((await run.verify(key)).meta)).toBe(JSON.stringify(meta));
      }
      expect({}).not.toHaveProperty("admin");
    });
  });
});
