import { describe, expect, test } from "vitest";
import { createKeyRing, parseEncryptionKeys } from "../../../src/platform/secrets/keyRing.ts";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

/** The configured encryption keys, newest first: 2, then 1. */
const CONFIGURED = [2, 1].map((n) => `key-${n}:${Buffer.alloc(32, n).toString("base64")}`);
const ringOf = (...entries: string[]) => createKeyRing(parseEncryptionKeys(entries.join(",")) ?? []);

everywhere(
  (run) => {
    const decrypt = (keyId: string): Promise<Record<string, unknown>> => run.data("keys.getKey", { keyId, decrypt: true });

    test("[keys §10] decrypt returns the string that createKey returned", async () => {
      for (const fields of [{}, { prefix: "my_app", byteLength: 255 }]) {
        const { keyId, key } = await run.createKey({ recoverable: true, ...fields });
        const shown = await run.getKey(keyId);
        expect(await decrypt(keyId)).toEqual({ ...shown, plaintext: key });
        expect(await run.verify(key)).toMatchObject({ valid: true });
      }
    });

    test("[keys §10] the secret is stored encrypted, with a nonce of its own and the id of the newest encryption key", async () => {
      const stored = [];
      for (const _ of [1, 2]) {
        const { keyId, key } = await run.createKey({ recoverable: true });
        const document = await run.api.store.collection("keys").findOne({ _id: keyId });
        expect(JSON.stringify(document)).not.toContain(key);
        expect(document?.encrypted?.keyId).toBe("key-2");
        stored.push(document?.encrypted?.ciphertext.slice(0, 16));
      }
      expect(stored[0]).not.toBe(stored[1]);
      expect(JSON.stringify(await everythingIn(run.api.store))).not.toContain(Buffer.alloc(32, 2).toString("base64"));
    });

    test("[keys §10] without decrypt nothing shows whether a key is recoverable", async () => {
      const apiId = await run.createApi();
      const plain = await run.createKey({ apiId });
      const recoverable = await run.createKey({ apiId, recoverable: true });
      const [a, b] = [await run.getKey(plain.keyId), await run.data("keys.getKey", { keyId: recoverable.keyId, decrypt: false })];
      expect(Object.keys(b).sort()).toEqual(Object.keys(a).sort());
      const [x, y] = [await run.verify(plain.key), await run.verify(recoverable.key)];
      expect(Object.keys(y).sort()).toEqual(Object.keys(x).sort());
    });

    test("[keys §4] decrypt on a key that was not made recoverable is 200 without plaintext, and no event", async () => {
      const caller = run.unique("reader");
      const rootKey = await run.api.createRootKey({ name: caller, permissions: ["api.*.read_key", "api.*.decrypt_key"] });
      const { keyId } = await run.createKey();
      expect(await run.data("keys.getKey", { keyId, decrypt: true }, rootKey)).toEqual(await run.getKey(keyId));
      expect(await eventsBy(run.api.store, caller)).toEqual([]);
    });

    test("[protocol §11] every plaintext handed out has its key.decrypt; reading does not touch updatedAt", async () => {
      const caller = run.unique("reader");
      const { keyId, apiId } = await run.createKey({ recoverable: true, name: "watched" });
      const rootKey = await run.api.createRootKey({ name: caller, permissions: [`api.${apiId}.read_key`, `api.${apiId}.decrypt_key`] });
      for (const _ of [1, 2]) expect(await run.data("keys.getKey", { keyId, decrypt: true }, rootKey)).not.toHaveProperty("updatedAt");
      await run.data("keys.getKey", { keyId }, rootKey);
      const target = { type: "key", id: keyId, name: "watched" };
      const events = await eventsBy(run.api.store, caller);
      expect(events.map(({ event, resources }) => ({ event, resources }))).toEqual([
        { event: "key.decrypt", resources: [target] },
        { event: "key.decrypt", resources: [target] },
      ]);
    });

    test("[keys §10] recoverable needs encrypt_key, and decrypt needs decrypt_key in addition to read_key", async () => {
      const { keyId, apiId } = await run.createKey({ recoverable: true });
      const creator = await run.api.createRootKey({ permissions: [`api.${apiId}.create_key`, "api.*.read_key"] });
      const before = await everythingIn(run.api.store);
      const created = expectError(await run.call("keys.createKey", { apiId, recoverable: true }, creator), 403, "insufficient_permissions");
      expect(created.detail).toContain(`api.${apiId}.encrypt_key`);
      const read = expectError(await run.call("keys.getKey", { keyId, decrypt: true }, creator), 403, "insufficient_permissions");
      expect(read.detail).toContain(`api.${apiId}.decrypt_key`);
      expect(await everythingIn(run.api.store)).toEqual(before);
    });

    test.each([false, true])("[keys §5] after deletion with permanent %s the ciphertext is gone", async (permanent) => {
      const { keyId } = await run.createKey({ recoverable: true });
      await run.data("keys.deleteKey", { keyId, permanent });
      expectError(await run.call("keys.getKey", { keyId, decrypt: true }), 404, "unkey/data/key_not_found");
      const left = await run.api.store.collection("keys").findOne({ _id: keyId });
      expect(left ?? {}).not.toHaveProperty("encrypted");
    });

    test("[keys §3] a changed key stays recoverable", async () => {
      const { keyId, key } = await run.createKey({ recoverable: true, meta: { a: 1 } });
      await run.data("keys.updateKey", { keyId, name: "renamed", meta: null, enabled: false });
      expect(await decrypt(keyId)).toMatchObject({ plaintext: key, name: "renamed", enabled: false });
    });

    describe("encryption keys", () => {
      /** Replaces the stored ciphertext of a key. */
      const replace = async (keyId: string, encrypted: { keyId: string; ciphertext: string }): Promise<void> => {
        await run.api.store.collection("keys").updateOne({ _id: keyId }, { $set: { encrypted } });
      };

      test("[keys §10] secrets encrypted by an older key can still be decrypted", async () => {
        const { keyId, key } = await run.createKey({ recoverable: true });
        await replace(keyId, ringOf(CONFIGURED[1] as string).encrypt(key, keyId));
        expect(await decrypt(keyId)).toMatchObject({ plaintext: key });
      });

      test("[keys §4] a wrong or missing encryption key and an altered ciphertext are 500, without plaintext or event", async () => {
        const caller = run.unique("reader");
        const rootKey = await run.api.createRootKey({ name: caller });
        const { keyId, key } = await run.createKey({ recoverable: true });
        const other = await run.createKey({ recoverable: true });
        const right = ringOf(...CONFIGURED).encrypt(key, keyId);
        const wrongs = [
          ringOf(`key-2:${Buffer.alloc(32, 9).toString("base64")}`).encrypt(key, keyId),
          ringOf(`key-3:${Buffer.alloc(32, 3).toString("base64")}`).encrypt(key, keyId),
          { ...right, ciphertext: `${right.ciphertext.startsWith("A") ? "B" : "A"}${right.ciphertext.slice(1)}` },
          { ...right, ciphertext: "" },
          // Another key's ciphertext in this one's place.
          ringOf(...CONFIGURED).encrypt(other.key, other.keyId),
        ];
        for (const wrong of wrongs) {
          await replace(keyId, wrong);
          const error = expectError(
            await run.call("keys.getKey", { keyId, decrypt: true }, rootKey),
            500,
            "unkey/application/unexpected_error",
          );
          expect(JSON.stringify(error)).not.toContain(key);
        }
        expect(await eventsBy(run.api.store, caller)).toEqual([]);
        await replace(keyId, right);
        expect(await decrypt(keyId)).toMatchObject({ plaintext: key });
      });
    });
  },
  undefined,
  { env: { ENCRYPTION_KEYS: CONFIGURED.join(",") } },
);
