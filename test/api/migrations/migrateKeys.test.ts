import { hash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { type ForeignKey, plainKey, prefixedKey, registerMigration, SEAM } from "../../support/migrations.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

const FAR = 4_102_444_800_000;

interface Migrated {
  readonly migrated: readonly { readonly hash: string; readonly keyId: string }[];
  readonly failed: readonly string[];
}

everywhere((run) => {
  const migrations = { sha256: "", seam: "" };
  beforeAll(async () => {
    migrations.sha256 = await registerMigration(run.api.store, "sha256");
    migrations.seam = await registerMigration(run.api.store, SEAM);
  });

  const body = (apiId: string, keys: readonly object[], migrationId = migrations.sha256): object => ({ apiId, migrationId, keys });
  const migrate = async (apiId: string, keys: readonly object[], migrationId?: string): Promise<Migrated> =>
    (await run.data("keys.migrateKeys", body(apiId, keys, migrationId))) as unknown as Migrated;
  /** Imports one key into a new API. */
  const importOne = async (
    fields: object = {},
    { key, hash: stored }: ForeignKey = plainKey(),
  ): Promise<{ key: string; keyId: string }> => {
    const { migrated } = await migrate(await run.createApi(), [{ hash: stored, ...fields }]);
    return { key, keyId: migrated[0]?.keyId ?? "" };
  };

  describe("the imported fields", () => {
    test("[keys §7] a key of a sha256 migration verifies directly, with and without its migrationId", async () => {
      const { key, keyId } = await importOne();
      expect(await run.verify(key)).toMatchObject({ valid: true, code: "VALID", keyId });
      expect(await run.verify(key, { migrationId: migrations.sha256 })).toMatchObject({ valid: true, keyId });
      expect(await run.data("keys.whoami", { key })).toMatchObject({ keyId });
    });

    test("[keys §1.1] start is empty, also after a verification of a key that needs no rehash", async () => {
      const { key, keyId } = await importOne();
      await run.verify(key, { migrationId: migrations.sha256 });
      expect(await run.getKey(keyId)).toEqual({ keyId, start: "", enabled: true, createdAt: expect.any(Number) });
    });

    test("[keys §7] the answer lists hash and keyId in request order, and both lists are there when empty", async () => {
      const apiId = await run.createApi();
      const hashes = [plainKey(), plainKey(), plainKey()].map((each) => each.hash);
      const first = await migrate(
        apiId,
        hashes.map((each) => ({ hash: each })),
      );
      expect(first).toEqual({
        migrated: hashes.map((each) => ({ hash: each, keyId: expect.stringMatching(/^key_[a-zA-Z0-9]{16,}$/) })),
        failed: [],
      });
      expect(new Set(first.migrated.map(({ keyId }) => keyId)).size).toBe(3);
      const again = await migrate(
        apiId,
        hashes.map((each) => ({ hash: each })),
      );
      expect(again).toEqual({ migrated: [], failed: hashes });
    });

    test("[keys §7] every field of an item comes back from getKey", async () => {
      const [role, slug, externalId] = [run.unique("role"), run.unique("docs.read"), run.unique("user")];
      const refill = { interval: "monthly", amount: 5, refillDay: 31 };
      const fields = {
        name: "imported",
        meta: { plan: "pro", "a.b": { $set: null } },
        expires: FAR,
        credits: { remaining: 3, refill },
        ratelimits: [{ name: "requests", limit: 10, duration: 1000, autoApply: true }],
      };
      const { key, keyId } = await importOne({ ...fields, externalId, roles: [role], permissions: [slug], enabled: true });
      const shown = {
        keyId,
        start: "",
        enabled: true,
        createdAt: expect.any(Number),
        ...fields,
        ratelimits: [{ ...fields.ratelimits[0], id: expect.stringMatching(/^rl_/) }],
        roles: [role],
        permissions: [slug],
        identity: { id: expect.stringMatching(/^id_/), externalId },
      };
      expect(await run.getKey(keyId)).toEqual(shown);
      expect(await run.verify(key, { permissions: slug })).toMatchObject({ valid: true, credits: 2, roles: [role], name: "imported" });
    });

    test.each([
      ["credits.remaining null is unlimited", { credits: { remaining: null } }, "VALID"],
      ["a balance of 0 is exhausted", { credits: { remaining: 0 } }, "USAGE_EXCEEDED"],
      ["enabled false is DISABLED", { enabled: false }, "DISABLED"],
      ["expires 0 is EXPIRED", { expires: 0 }, "EXPIRED"],
    ])("[keys §7] %s", async (_, fields, code) => {
      const { key, keyId } = await importOne(fields);
      expect(await run.verify(key)).toMatchObject({ code });
      const shown = await run.getKey(keyId);
      if ("credits" in fields && fields.credits.remaining === null) expect(shown).not.toHaveProperty("credits");
      else expect(shown).toMatchObject(fields);
    });

    test("[keys §7] a prefixed key waits for its migration: nothing finds it before", async () => {
      const foreign = prefixedKey();
      const apiId = await run.createApi();
      const { migrated } = await migrate(apiId, [{ hash: foreign.hash }], migrations.seam);
      expect(await run.verify(foreign.key)).toEqual({ valid: false, code: "NOT_FOUND" });
      expectError(await run.call("keys.whoami", { key: foreign.key }), 404, "unkey/data/key_not_found");
      expect(await run.getKey(migrated[0]?.keyId ?? "")).toMatchObject({ start: "", enabled: true });
    });

    test("[keys §7] a hash is stored as given: other forms of it are other hashes", async () => {
      const { key, hash: base64 } = plainKey();
      const hex = hash("sha256", key, "hex");
      const apiId = await run.createApi();
      const { migrated, failed } = await migrate(apiId, [{ hash: hex }, { hash: hex.toUpperCase() }, { hash: ` ${base64}` }]);
      expect({ count: migrated.length, failed }).toEqual({ count: 3, failed: [] });
      expect(await run.verify(key)).toMatchObject({ code: "NOT_FOUND" });
      const third = await run.api.store.collection("keys").findOne({ _id: migrated[2]?.keyId ?? "" });
      expect(third?.hash).toBe(` ${base64}`);
    });
  });

  describe("hashes that are taken", () => {
    test("[keys §7] a hash that any key has goes to failed, those of soft-deleted keys and other APIs included; the rest is imported", async () => {
      const issued = await run.createKey();
      const deleted = await run.createKey();
      await run.data("keys.deleteKey", { keyId: deleted.keyId });
      const erased = await run.createKey();
      await run.data("keys.deleteKey", { keyId: erased.keyId, permanent: true });
      const [issuedHash, deletedHash, erasedHash] = [issued, deleted, erased].map(({ key }) => plainKey(key).hash);
      const fresh = plainKey();
      const { migrated, failed } = await migrate(
        await run.createApi(),
        [issuedHash, fresh.hash, deletedHash, erasedHash].map((each) => ({ hash: each })),
      );
      expect(failed).toEqual([issuedHash, deletedHash]);
      expect(migrated.map((each) => each.hash)).toEqual([fresh.hash, erasedHash]);
      expect(await run.verify(issued.key)).toMatchObject({ valid: true, keyId: issued.keyId });
      expect(await run.verify(deleted.key)).toMatchObject({ code: "NOT_FOUND" });
      expect(await run.verify(erased.key)).toMatchObject({ valid: true, keyId: migrated[1]?.keyId });
    });

    test("[keys §7] the first of several items with one hash is imported, the others are in failed", async () => {
      const [a, b] = [plainKey(), plainKey()];
      const items = [
        { hash: a.hash, name: "first" },
        { hash: b.hash, name: "other" },
        { hash: a.hash, name: "second" },
        { hash: a.hash, name: "third" },
      ];
      const { migrated, failed } = await migrate(await run.createApi(), items);
      expect(migrated.map((each) => each.hash)).toEqual([a.hash, b.hash]);
      expect(failed).toEqual([a.hash, a.hash]);
      expect(await run.verify(a.key)).toMatchObject({ valid: true, name: "first" });
    });

    test("[keys §7] a repeated item that fails makes no role, permission or identity", async () => {
      const { hash: same } = plainKey();
      const [role, slug, externalId] = [run.unique("only-failed"), run.unique("only.failed"), run.unique("only-failed")];
      await migrate(await run.createApi(), [{ hash: same }, { hash: same, roles: [role], permissions: [slug], externalId }]);
      const written = JSON.stringify(await everythingIn(run.api.store));
      for (const name of [role, slug, externalId]) expect(written).not.toContain(name);
    });
  });

  describe("the objects that the items refer to", () => {
    test("[keys §7] unknown roles, permissions and identities are created, each once per call, and known ones are linked", async () => {
      const [known, fresh, slug, externalId] = ["known", "fresh role", "docs.read", "user"].map(run.unique) as [
        string,
        string,
        string,
        string,
      ];
      const { roleId } = await run.data("permissions.createRole", { name: known });
      const { permissionId } = await run.data("permissions.createPermission", { name: "Read", slug: `${slug}.known` });
      const items = Array.from({ length: 5 }, () => ({
        hash: plainKey().hash,
        roles: [known, fresh, fresh],
        permissions: [slug, slug.toUpperCase(), permissionId, `${slug}.known`],
        externalId,
      }));
      const { migrated } = await migrate(await run.createApi(), items);
      const shown = await Promise.all(migrated.map(({ keyId }) => run.getKey(keyId)));
      for (const each of shown) {
        expect(each).toMatchObject({ roles: [fresh, known], permissions: [slug, `${slug}.known`], identity: { externalId } });
      }
      expect(new Set(shown.map(({ identity }) => (identity as { id: string }).id)).size).toBe(1);
      const { store } = run.api;
      const roles = await store
        .collection("roles")
        .find({ nameKey: { $in: [known, fresh] } })
        .toArray();
      expect(roles.map(({ name }) => name).sort()).toEqual([fresh, known]);
      expect(roles.map(({ _id }) => _id)).toContain(roleId);
      expect(await store.collection("permissions").find({ slugKey: slug.toLowerCase() }).toArray()).toMatchObject([{ name: slug, slug }]);
      expect(await store.collection("identities").find({ externalId }).toArray()).toHaveLength(1);
    });

    test("[permissions §1] a role in other letters is the role that is there, for names are unique without regard to letter case", async () => {
      const name = run.unique("Röle Admin");
      await run.data("permissions.createRole", { name, permissions: [`${run.unique("granted")}.read`] });
      const fresh = run.unique("Fresh");
      const { keyId } = await importOne({ roles: [name.toUpperCase(), name.toLowerCase(), fresh, fresh.toUpperCase()] });
      expect((await run.getKey(keyId)).roles).toEqual([fresh, name].sort());
    });

    test("[protocol §11] each key has its events, each helper its own, all of one call under one correlation id", async () => {
      const actor = run.unique("importer");
      const rootKey = await run.api.createRootKey({ name: actor });
      const [role, slug, externalId] = [run.unique("role"), run.unique("docs"), run.unique("user")];
      const items = [1, 2].map(() => ({ hash: plainKey().hash, roles: [role], permissions: [slug], externalId }));
      await run.data("keys.migrateKeys", body(await run.createApi(), [...items, ...items]), rootKey);
      const events = await eventsBy(run.api.store, actor);
      expect(events.map(({ event }) => event).sort()).toEqual([
        ...Array(2).fill("authorization.connect_permission_and_key"),
        ...Array(2).fill("authorization.connect_role_and_key"),
        "identity.create",
        ...Array(2).fill("key.create"),
        "permission.create",
        "role.create",
      ]);
      expect(new Set(events.map(({ correlationId }) => correlationId)).size).toBe(1);
      for (const event of events) expect(event).toMatchObject({ actor: { type: "rootkey", name: actor }, remoteIp: "127.0.0.1" });
    });
  });

  describe("refusals", () => {
    test("[keys §7] without create_key for the API: 403, the same for every API, checked before the API and the migration", async () => {
      const apiId = await run.createApi();
      const other = await run.createApi();
      const wrong = ["api.*.verify_key", "api.*.update_key", "api.*.create_api", `api.${other}.create_key`, "rbac.*.create_role"];
      const rootKey = await run.api.createRootKey({ permissions: wrong });
      for (const [target, migrationId] of [[apiId], [apiId, "mig_unknown"], ["api_unknown"], ["api_unknown", "mig_unknown"]] as const) {
        const answer = await run.call("keys.migrateKeys", body(target, [{ hash: plainKey().hash }], migrationId), rootKey);
        const { detail } = expectError(answer, 403, "unkey/authorization/insufficient_permissions");
        expect(detail).toContain(`api.${target}.create_key`);
        expect(detail).toContain("api.*.create_key");
      }
    });

    test("[keys §1.4] create_key for this API is enough, also to create roles, permissions and identities", async () => {
      const apiId = await run.createApi();
      const rootKey = await run.api.createRootKey({ permissions: [`api.${apiId}.create_key`] });
      const item = {
        hash: plainKey().hash,
        roles: [run.unique("role")],
        permissions: [run.unique("slug")],
        externalId: run.unique("user"),
      };
      expect(await run.data("keys.migrateKeys", body(apiId, [item]), rootKey)).toMatchObject({ failed: [] });
    });

    test("[keys §7] an unknown or deleted API is 404 api_not_found, also with an unknown migration", async () => {
      const deleted = await run.createApi();
      await run.data("apis.deleteApi", { apiId: deleted });
      for (const apiId of [deleted, "api_unknown"]) {
        for (const migrationId of [migrations.sha256, "mig_unknown"]) {
          const answer = await run.call("keys.migrateKeys", body(apiId, [{ hash: plainKey().hash }], migrationId));
          expect(expectError(answer, 404, "unkey/data/api_not_found").detail).toContain(apiId);
        }
      }
    });

    test.each([
      ["well-formed", "mig_unknown"],
      ["longest", "m".repeat(255)],
      ["property of every object", "__proto__"],
    ])("[keys §7] an unknown migrationId (%s) is 404 migration_not_found", async (_, migrationId) => {
      const answer = await run.call("keys.migrateKeys", body(await run.createApi(), [{ hash: plainKey().hash }], migrationId));
      expect(expectError(answer, 404, "unkey/data/migration_not_found").detail).toContain(migrationId);
    });

    test("[keys §7] a call that fails with 400, 403 or 404 imports nothing", async () => {
      const apiId = await run.createApi();
      const powerless = await run.api.createRootKey({ permissions: ["api.*.verify_key"] });
      const good = {
        hash: plainKey().hash,
        roles: [run.unique("none")],
        permissions: [run.unique("none")],
        externalId: run.unique("none"),
      };
      const before = await everythingIn(run.api.store);
      expectError(await run.call("keys.migrateKeys", body(apiId, [good, { hash: "ab" }])), 400, "unkey/application/invalid_input");
      expectError(await run.call("keys.migrateKeys", body(apiId, [good]), powerless), 403, "insufficient_permissions");
      expectError(await run.call("keys.migrateKeys", body("api_unknown", [good])), 404, "api_not_found");
      expectError(await run.call("keys.migrateKeys", body(apiId, [good], "mig_unknown")), 404, "migration_not_found");
      expect(await everythingIn(run.api.store)).toEqual(before);
    });
  });
});
