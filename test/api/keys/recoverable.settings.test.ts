// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { request } from "../../support/envelope.ts";
import { everywhere } from "../../support/everywhere.ts";
import { engines } from "../../support/stores.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

const keyOf = (id: string, fill: number): string => `${id}:${Buffer.alloc(32, fill).toString("base64")}`;
const [first, second, third] = [keyOf("first", 1), keyOf("second", 2), keyOf("third", 3)];

describe("without an encryption key", () => {
  everywhere((run) => {
    /** A key that another configuration made recoverable. */
    const createRecoverable = async () => {
      const created = await run.createKey();
      const encrypted = { keyId: "gone", ciphertext: Buffer.alloc(40).toString("base64") };
      await run.api.store.collection("keys").updateOne({ _id: created.keyId }, { $set: { encrypted } });
      return created;
    };
    const expect412 = async (procedure: string, body: object): Promise<void> => {
      const before = await everythingIn(run.api.store);
      expectError(await run.call(procedure, body), 412, "unkey/application/precondition_failed");
      expect(await everythingIn(run.api.store)).toEqual(before);
    };

    test("[keys §10] createKey recoverable is 412, and makes no key, permission or identity", async () => {
      const apiId = await run.createApi();
      await expect412("keys.createKey", { apiId, recoverable: true });
      await expect412("keys.createKey", { apiId, recoverable: true, permissions: [run.unique("p")], externalId: run.unique("user") });
    });

    test("[keys §4] decrypt is 412, for a key that is not recoverable, too", async () => {
      await expect412("keys.getKey", { keyId: (await run.createKey()).keyId, decrypt: true });
      const { keyId, apiId } = await createRecoverable();
      await expect412("keys.getKey", { keyId, decrypt: true });
      await expect412("apis.listKeys", { apiId, decrypt: true });
      expect(await run.data("keys.getKey", { keyId, decrypt: false })).toMatchObject({ keyId });
    });

    test("[keys §6] rerolling a recoverable key is 412, and changes nothing of it; any other can be rerolled", async () => {
      const { keyId, key } = await createRecoverable();
      await expect412("keys.rerollKey", { keyId, expiration: 0 });
      expect(await run.verify(key)).toMatchObject({ valid: true });
      await run.data("keys.rerollKey", { keyId: (await run.createKey()).keyId, expiration: 0 });
    });

    test("[permissions §14] the permission is judged before the 412, an unknown key before both", async () => {
      const { keyId, apiId } = await createRecoverable();
      const weak = await run.api.createRootKey({ permissions: ["api.*.create_key", "api.*.read_key", "api.*.read_api"] });
      for (const [procedure, body] of [
        ["keys.createKey", { apiId, recoverable: true }],
        ["keys.getKey", { keyId, decrypt: true }],
        ["apis.listKeys", { apiId, decrypt: true }],
        ["keys.rerollKey", { keyId, expiration: 0 }],
      ] as const) {
        const { detail } = expectError(await run.call(procedure, body, weak), 403, "unkey/authorization/insufficient_permissions");
        expect(detail).toMatch(/\.(en|de)crypt_key/);
      }
      for (const procedure of ["keys.getKey", "keys.rerollKey"]) {
        const body = { keyId: "key_unknown", ...(procedure === "keys.getKey" ? { decrypt: true } : { expiration: 0 }) };
        expectError(await run.call(procedure, body), 404, "unkey/data/key_not_found");
      }
      expectError(await run.call("keys.createKey", { apiId: "api_unknown", recoverable: true }), 404, "unkey/data/api_not_found");
    });

    test("[keys §4] decrypt_key alone reads nothing", async () => {
      const { keyId } = await run.createKey();
      const rootKey = await run.api.createRootKey({ permissions: ["api.*.decrypt_key"] });
      const { detail } = expectError(await run.call("keys.getKey", { keyId, decrypt: true }, rootKey), 403, "insufficient_permissions");
      expect(detail).toContain("read_key");
      expect(detail).not.toContain("decrypt_key");
    });
  });
});

describe("with an encryption key", () => {
  everywhere(
    (run) => {
      test("[keys §10] rerolling a recoverable key makes one that is recoverable, and leaves the old one so", async () => {
        const old = await run.createKey({ recoverable: true, prefix: "my_app", byteLength: 32 });
        const fresh = await run.data("keys.rerollKey", { keyId: old.keyId, expiration: 60_000 });
        const again = await run.data("keys.rerollKey", { keyId: fresh.keyId, expiration: 60_000 });
        for (const { keyId, key } of [old, fresh, again]) {
          expect(await run.data("keys.getKey", { keyId, decrypt: true })).toMatchObject({ plaintext: key });
        }
        const plain = await run.createKey();
        const copy = await run.data("keys.rerollKey", { keyId: plain.keyId, expiration: 60_000 });
        expect(await run.data("keys.getKey", { keyId: copy.keyId, decrypt: true })).not.toHaveProperty("plaintext");
      });

      test("[keys §10] a ciphertext that was moved to the copy does not decrypt there", async () => {
        const old = await run.createKey({ recoverable: true });
        const { keyId } = (await run.data("keys.rerollKey", { keyId: old.keyId, expiration: 60_000 })) as { keyId: string };
        const keys = run.api.store.collection("keys");
        const { encrypted } = (await keys.findOne({ _id: old.keyId })) ?? expect.unreachable();
        await keys.updateOne({ _id: keyId }, { $set: { encrypted: encrypted ?? expect.unreachable() } });
        expectError(await run.call("keys.getKey", { keyId, decrypt: true }), 500, "unkey/application/unexpected_error");
      });

      if (run.edge !== "v2") return;
      test("[protocol §1] an answer with a plaintext is not to be stored", async () => {
        const { keyId, apiId } = await run.createKey({ recoverable: true });
        for (const [procedure, body] of [
          ["keys.getKey", { keyId, decrypt: true }],
          ["apis.listKeys", { apiId, decrypt: true }],
        ] as const) {
          const { headers } = await request(run.api.url, procedure, { rootKey: run.api.rootKey, body });
          expect(headers.get("cache-control")).toBe("no-store");
        }
      });
    },
    undefined,
    { env: { ENCRYPTION_KEYS: first } },
  );
});

describe.each(engines)("services of one store on $name", (engine) => {
  /** Under these names, each with its own encryption keys. */
  const configurations = {
    before: first,
    rotated: `${second},${first}`,
    retired: second,
    mistaken: keyOf("first", 9),
    third: `${third},${second},${first}`,
  } as const;
  const services = new Map<string, Api>();
  beforeAll(async () => {
    const store = await engine.open();
    for (const [name, keys] of Object.entries(configurations)) {
      const own = services.size === 0 ? store : await engine.openBeside(store);
      services.set(name, await startApi(engine, { store: own, env: { ENCRYPTION_KEYS: keys } }));
    }
  });
  afterAll(async () => {
    for (const service of [...services.values()].reverse()) await service.close();
    await engine.close();
  });
  const call = async (name: keyof typeof configurations, procedure: string, body: object, rootKey?: string) => {
    const api = services.get(name) ?? expect.unreachable();
    return (await api.edges[0]?.call(procedure, body, rootKey ?? api.rootKey)) ?? expect.unreachable();
  };
  const createKey = async (name: keyof typeof configurations): Promise<{ keyId: string; key: string }> => {
    const { apiId } = dataOf(await call(name, "apis.createApi", { name: "encrypted" }));
    return dataOf(await call(name, "keys.createKey", { apiId, recoverable: true })) as { keyId: string; key: string };
  };
  const plaintext = async (name: keyof typeof configurations, keyId: string) =>
    dataOf(await call(name, "keys.getKey", { keyId, decrypt: true })).plaintext;

  test("[keys §10] adding a key rotates: old keys can be read, new ones are encrypted with it, until the old key is taken out", async () => {
    const old = await createKey("before");
    const fresh = await createKey("rotated");
    for (const { keyId, key } of [old, fresh]) {
      expect(await plaintext("rotated", keyId)).toBe(key);
      expect(await plaintext("third", keyId)).toBe(key);
    }
    expect(await plaintext("retired", fresh.keyId)).toBe(fresh.key);
    const api = services.get("retired") ?? expect.unreachable();
    const stored = await api.store.collection("keys").findOne({ _id: fresh.keyId });
    expect(stored?.encrypted?.keyId).toBe("second");
    expectError(await call("retired", "keys.getKey", { keyId: old.keyId, decrypt: true }), 500, "unkey/application/unexpected_error");
  });

  test("[keys §4] a wrong encryption key under the right id is 500, with no event and no hint of the secret", async () => {
    const api = services.get("mistaken") ?? expect.unreachable();
    const rootKey = await api.createRootKey({ name: `reader on ${engine.name}` });
    const { keyId, key } = await createKey("before");
    const answer = await call("mistaken", "keys.getKey", { keyId, decrypt: true }, rootKey);
    const { detail } = expectError(answer, 500, "unkey/application/unexpected_error");
    expect(detail).not.toContain("first");
    expect(JSON.stringify(answer.body)).not.toContain(key.slice(5));
    expect(await eventsBy(api.store, `reader on ${engine.name}`)).toEqual([]);
    expect(dataOf(await call("mistaken", "keys.getKey", { keyId }))).toMatchObject({ keyId });
    expect(dataOf(await call("mistaken", "keys.verifyKey", { key }))).toMatchObject({ valid: true });
  });

  test("[keys §6] a reroll encrypts the new secret with the newest key", async () => {
    const old = await createKey("before");
    const fresh = dataOf(await call("rotated", "keys.rerollKey", { keyId: old.keyId, expiration: null })) as { keyId: string; key: string };
    expect(await plaintext("retired", fresh.keyId)).toBe(fresh.key);
    expect(await plaintext("before", old.keyId)).toBe(old.key);
    expectError(await call("before", "keys.getKey", { keyId: fresh.keyId, decrypt: true }), 500, "unexpected_error");
  });
});
