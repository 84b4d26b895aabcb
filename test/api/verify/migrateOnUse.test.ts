import { beforeAll, describe, expect, test } from "vitest";
import { hashKey } from "../../../src/platform/secrets/keySecret.ts";
import type { KeyDocument } from "../../../src/platform/storage/port/documents.ts";
import { everywhere } from "../../support/everywhere.ts";
import { type ForeignKey, plainKey, prefixedKey, registerMigration, SEAM } from "../../support/migrations.ts";
import { eventsIn } from "../../support/written.ts";

const NOT_FOUND = { valid: false, code: "NOT_FOUND" };

everywhere((run) => {
  let migrationId = "";
  let otherMigrationId = "";
  let sha256MigrationId = "";
  beforeAll(async () => {
    migrationId = await registerMigration(run.api.store, SEAM);
    otherMigrationId = await registerMigration(run.api.store, SEAM);
    sha256MigrationId = await registerMigration(run.api.store, "sha256");
  });

  interface Imported extends ForeignKey {
    readonly keyId: string;
    readonly apiId: string;
  }
  /** A key that waits for its first use. */
  const importKey = async (fields: object = {}, foreign = prefixedKey()): Promise<Imported> => {
    const apiId = await run.createApi();
    const { migrated } = await run.data("keys.migrateKeys", { apiId, migrationId, keys: [{ hash: foreign.hash, ...fields }] });
    return { ...foreign, apiId, keyId: (migrated as { keyId: string }[])[0]?.keyId ?? "" };
  };
  const stored = async ({ keyId }: Imported): Promise<KeyDocument | null> => run.api.store.collection("keys").findOne({ _id: keyId });
  const expectPending = async (imported: Imported): Promise<void> => {
    expect(await stored(imported)).toMatchObject({ hash: imported.hash, pendingMigrationId: migrationId, start: "" });
  };

  describe("the first use", () => {
    test("[verify §8] stores the native hash, sets start and clears the pending mark; then the key verifies without migrationId", async () => {
      const imported = await importKey({ name: "old", credits: { remaining: 3 } }, prefixedKey("acme", "shrt1234"));
      expect(await run.verify(imported.key, { migrationId })).toMatchObject({
        valid: true,
        code: "VALID",
        keyId: imported.keyId,
        keyspaceId: imported.apiId,
        name: "old",
        credits: 2,
      });
      const key = await stored(imported);
      expect(key).toMatchObject({ hash: hashKey(imported.key), start: "acme_shrt" });
      expect(key).not.toHaveProperty("pendingMigrationId");
      expect(await run.verify(imported.key)).toMatchObject({ valid: true, credits: 1 });
      expect(await run.verify(imported.key, { migrationId })).toMatchObject({ valid: true, credits: 0 });
      expect(await run.data("keys.whoami", { key: imported.key })).toMatchObject({ keyId: imported.keyId, start: "acme_shrt" });
    });

    test("[keys §7] leaves the imported hash taken, also once the key is revoked, until it is deleted for good", async () => {
      const imported = await importKey();
      await run.verify(imported.key, { migrationId });
      const again = (): Promise<Record<string, unknown>> =>
        run.data("keys.migrateKeys", { apiId: imported.apiId, migrationId, keys: [{ hash: imported.hash }] });
      expect(await again()).toEqual({ migrated: [], failed: [imported.hash] });
      await run.data("keys.deleteKey", { keyId: imported.keyId });
      expect(await again()).toEqual({ migrated: [], failed: [imported.hash] });
      const [prefix, , longToken] = imported.key.split("_");
      expect(await run.verify(`${prefix}_other_${longToken}`, { migrationId })).toEqual(NOT_FOUND);

      const erased = await importKey();
      await run.verify(erased.key, { migrationId });
      await run.data("keys.deleteKey", { keyId: erased.keyId, permanent: true });
      const body = { apiId: erased.apiId, migrationId, keys: [{ hash: erased.hash }] };
      expect((await run.data("keys.migrateKeys", body)).failed).toEqual([]);
    });

    test("[keys §1.8] sets updatedAt, which an import has not", async () => {
      const imported = await importKey();
      expect(await run.getKey(imported.keyId)).not.toHaveProperty("updatedAt");
      await run.verify(imported.key, { migrationId });
      const shown = await run.getKey(imported.keyId);
      expect(shown.updatedAt).toBeGreaterThanOrEqual(shown.createdAt as number);
    });

    test("[verify §10] writes one audit event, by the system; no later use writes any", async () => {
      const imported = await importKey();
      for (let use = 0; use < 3; use++) await run.verify(imported.key, { migrationId });
      const events = (await eventsIn(run.api.store)).filter(({ resources }) => resources.some(({ id }) => id === imported.keyId));
      expect(events.map(({ event, actor }) => [event, actor.type])).toEqual([
        ["key.create", "rootkey"],
        ["key.update", "system"],
      ]);
    });

    test.each([
      ["a prefix that holds _", "my_own_app", "short", "my_own_app_shor"],
      ["a prefix that begins and ends with _", "_app_", "short", "_app__shor"],
      ["a one-letter prefix and token", "a", "b", "a_b_"],
      ["a short token of two letters", "acme", "ab", "acme_ab_"],
      ["letters outside of the basic plane", "äß😀", "xyz😀w", "äß😀_xyz😀"],
    ])("[verify §8] start is the prefix, _ and four characters: %s", async (_, prefix, shortToken, start) => {
      const imported = await importKey({}, prefixedKey(prefix, shortToken));
      expect(await run.verify(imported.key, { migrationId })).toMatchObject({ valid: true, keyId: imported.keyId });
      const shown = (await run.getKey(imported.keyId)).start as string;
      const [, longToken = ""] = imported.key.split(`_${shortToken}_`);
      expect(shown).toBe([...`${start}${longToken}`].slice(0, [...`${prefix}_`].length + 4).join(""));
      expect(await run.verify(imported.key)).toMatchObject({ valid: true });
    });

    test("[verify §8] a disabled, expired or exhausted key is taken over, too, and its outcome is that of its state", async () => {
      for (const [fields, code] of [
        [{ enabled: false }, "DISABLED"],
        [{ expires: 1 }, "EXPIRED"],
        [{ credits: { remaining: 0 } }, "USAGE_EXCEEDED"],
      ] as const) {
        const imported = await importKey(fields);
        expect(await run.verify(imported.key, { migrationId })).toMatchObject({ code, keyId: imported.keyId });
        expect(await run.verify(imported.key)).toMatchObject({ code, keyId: imported.keyId });
      }
    });

    test("[verify §8] the stored hash covers the whole key: afterwards no other prefix or short token is accepted", async () => {
      const imported = await importKey();
      const [, shortToken = "", longToken = ""] = imported.key.split("_");
      await run.verify(imported.key, { migrationId });
      for (const forged of [prefixedKey("evil", shortToken, longToken), prefixedKey("acme", "other", longToken)]) {
        expect(await run.verify(forged.key, { migrationId })).toEqual(NOT_FOUND);
      }
      expect(await run.verify(imported.key)).toMatchObject({ valid: true });
    });
  });

  describe("verifications that migrate nothing", () => {
    test.each([
      ["no migrationId", () => ({})],
      ["an empty migrationId", () => ({ migrationId: "" })],
      ["an unknown migrationId", () => ({ migrationId: "mig_unknown" })],
      ["the longest migrationId", () => ({ migrationId: "m".repeat(256) })],
      ["a migrationId that every object has", () => ({ migrationId: "__proto__" })],
      ["the id of a sha256 migration", () => ({ migrationId: sha256MigrationId })],
      ["the id of another migration of the same algorithm", () => ({ migrationId: otherMigrationId })],
    ])("[verify §8] %s: NOT_FOUND, and the key still waits", async (_, fields) => {
      const imported = await importKey();
      expect(await run.verify(imported.key, fields())).toEqual(NOT_FOUND);
      await expectPending(imported);
      expect(await run.verify(imported.key, { migrationId })).toMatchObject({ valid: true });
    });

    test("[verify §8] fewer than three segments, or an empty token: NOT_FOUND, never an error", async () => {
      const imported = await importKey();
      const longToken = imported.key.split("_").at(-1) ?? "";
      const wrong = [
        longToken,
        `acme_${longToken}`,
        `_${longToken}`,
        `acme__${longToken}`,
        `__${longToken}`,
        `${imported.key}_`,
        "_",
        "__",
        "___",
      ];
      for (const key of [...wrong, imported.hash, `${imported.key} `, imported.key.toUpperCase()]) {
        expect({ key, ...(await run.verify(key, { migrationId })) }).toEqual({ key, ...NOT_FOUND });
      }
      await expectPending(imported);
    });

    test("[verify §8] the hash of an empty long token is no key's", async () => {
      await importKey({}, prefixedKey("acme", "short", ""));
      expect(await run.verify("acme_short_", { migrationId })).toEqual(NOT_FOUND);
    });

    test("[verify §8] a hash of a sha256 migration is not taken for that of a long token", async () => {
      const foreign = prefixedKey();
      await run.data("keys.migrateKeys", { apiId: await run.createApi(), migrationId: sha256MigrationId, keys: [{ hash: foreign.hash }] });
      expect(await run.verify(foreign.key, { migrationId })).toEqual(NOT_FOUND);
      expect(await run.verify(foreign.key, { migrationId: sha256MigrationId })).toEqual(NOT_FOUND);
    });

    test("[verify §8] a caller that may not verify the key takes nothing over: 403, or NOT_FOUND with grants for other APIs", async () => {
      const imported = await importKey();
      const none = await run.api.createRootKey({ permissions: ["api.*.read_key", "api.*.update_key", "api.*.create_key"] });
      const other = await run.api.createRootKey({ permissions: [`api.${await run.createApi()}.verify_key`] });
      const body = { key: imported.key, migrationId };
      expect((await run.call("keys.verifyKey", body, none)).status).toBe(403);
      expect(await run.data("keys.verifyKey", body, other)).toEqual(NOT_FOUND);
      await expectPending(imported);
      const own = await run.api.createRootKey({ permissions: [`api.${imported.apiId}.verify_key`] });
      expect(await run.data("keys.verifyKey", body, own)).toMatchObject({ valid: true });
    });

    test("[verify §6] keyspaces that do not name the key's API: NOT_FOUND, and the key still waits", async () => {
      const imported = await importKey();
      expect(await run.verify(imported.key, { migrationId, keyspaces: [await run.createApi()] })).toEqual(NOT_FOUND);
      await expectPending(imported);
      expect(await run.verify(imported.key, { migrationId, keyspaces: [imported.apiId] })).toMatchObject({ valid: true });
    });

    test("[verify §6] the API is deleted: NOT_FOUND, and nothing is written", async () => {
      const imported = await importKey();
      await run.data("apis.deleteApi", { apiId: imported.apiId });
      expect(await run.verify(imported.key, { migrationId })).toEqual(NOT_FOUND);
      await expectPending(imported);
    });

    test("[keys §1.2] a deleted key: NOT_FOUND, softly deleted or for good", async () => {
      for (const permanent of [false, true]) {
        const imported = await importKey();
        await run.data("keys.deleteKey", { keyId: imported.keyId, permanent });
        expect(await run.verify(imported.key, { migrationId })).toEqual(NOT_FOUND);
      }
    });

    test("[verify §2] a malformed request takes nothing over: 400", async () => {
      const imported = await importKey();
      for (const fields of [{ permissions: "a AND" }, { permissions: "a b" }]) {
        expect((await run.call("keys.verifyKey", { key: imported.key, migrationId, ...fields })).status).toBe(400);
      }
      await expectPending(imported);
    });

    test("[keys §7] a key whose own hash is taken by another one is NOT_FOUND, not an error", async () => {
      const foreign = prefixedKey();
      const native = await run.data("keys.migrateKeys", {
        apiId: await run.createApi(),
        migrationId: sha256MigrationId,
        keys: [{ hash: plainKey(foreign.key).hash }],
      });
      const [{ keyId }] = native.migrated as [{ keyId: string }];
      const imported = await importKey({}, foreign);
      expect(await run.verify(foreign.key, { migrationId })).toMatchObject({ valid: true, keyId });
      await run.data("keys.deleteKey", { keyId });
      expect(await run.verify(foreign.key, { migrationId })).toEqual(NOT_FOUND);
      await expectPending(imported);
    });
  });

  describe("many first uses at once", () => {
    test("[verify §8] 20 first uses of one key are all answered with it, and it is taken over once", async () => {
      const imported = await importKey({ credits: { remaining: 7 } });
      const answers = await Promise.all(Array.from({ length: 20 }, () => run.verify(imported.key, { migrationId })));
      for (const answer of answers) expect(answer).toMatchObject({ keyId: imported.keyId });
      expect(answers.filter(({ code }) => code === "VALID").map(({ credits }) => credits)).toHaveLength(7);
      expect(answers.filter(({ code }) => code === "USAGE_EXCEEDED")).toHaveLength(13);
      const events = (await eventsIn(run.api.store)).filter(({ resources }) => resources.some(({ id }) => id === imported.keyId));
      expect(events.map(({ event }) => event)).toEqual(["key.create", "key.update"]);
    });

    test("[verify §8] 20 first uses on two nodes, which both looked the key up before, are all valid", async () => {
      const nodes = [run.api, await run.other()];
      const imported = await importKey();
      for (const node of nodes) expect(await run.data("keys.verifyKey", { key: imported.key }, undefined, node)).toEqual(NOT_FOUND);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => run.data("keys.verifyKey", { key: imported.key, migrationId }, undefined, nodes[i % 2])),
      );
      for (const answer of answers) expect(answer).toMatchObject({ valid: true, keyId: imported.keyId });
    });

    test("[verify §8] a use on another node after the first one is valid at once", async () => {
      const imported = await importKey();
      const other = await run.other();
      expect(await run.data("keys.verifyKey", { key: imported.key }, undefined, other)).toEqual(NOT_FOUND);
      expect(await run.verify(imported.key, { migrationId })).toMatchObject({ valid: true });
      expect(await run.data("keys.verifyKey", { key: imported.key, migrationId }, undefined, other)).toMatchObject({ valid: true });
    });

    test("[verify §8] when two keys share a long token the first one used wins, and the other is NOT_FOUND", async () => {
      const imported = await importKey();
      const [, , longToken = ""] = imported.key.split("_");
      const keys = Array.from({ length: 10 }, (_, i) => prefixedKey(`prefix${i}`, "short", longToken).key);
      const answers = await Promise.all(keys.map((key) => run.verify(key, { migrationId })));
      expect(answers.filter(({ valid }) => valid)).toHaveLength(1);
      expect(answers.filter(({ code }) => code === "NOT_FOUND")).toHaveLength(9);
      const winner = keys[answers.findIndex(({ valid }) => valid)] ?? "";
      expect(await stored(imported)).toMatchObject({ hash: hashKey(winner) });
    });
  });
});
