// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { everythingIn } from "../../support/written.ts";

everywhere((run) => {
  const whoami = (key: string, rootKey?: string) => run.call("keys.whoami", { key }, rootKey);

  test("[keys §8] the answer is the key as getKey shows it, found by its secret", async () => {
    const [role, slug] = [run.unique("role"), run.unique("docs.read")];
    await run.data("permissions.createRole", { name: role, permissions: [run.unique("inherited")] });
    for (const fields of [
      {},
      {
        prefix: "my_app",
        name: "shown",
        meta: { plan: "pro", "a.b": null },
        externalId: run.unique("user"),
        expires: 4_000_000_000_000,
        credits: { remaining: 3, refill: { interval: "monthly", amount: 5, refillDay: 31 } },
        permissions: [slug],
        roles: [role],
        ratelimits: [{ name: "requests", limit: 10, duration: 60_000, autoApply: true }],
      },
    ]) {
      const { keyId, key } = await run.createKey(fields);
      const shown = await run.data("keys.whoami", { key });
      expect(shown).toEqual(await run.getKey(keyId));
      expect(shown).toMatchObject({ keyId, start: key.slice(0, key.lastIndexOf("_") + 5) });
    }
  });

  test.each([
    ["disabled", { enabled: false }],
    ["expired", { expires: 0 }],
    ["exhausted", { credits: { remaining: 0 } }],
  ])("[keys §8] it works for a key that is %s", async (_, fields) => {
    const { keyId, key } = await run.createKey(fields);
    expect(await run.data("keys.whoami", { key })).toMatchObject({ keyId, ...fields });
  });

  test("[keys §8] reading does not verify: no credit, no rate limit, no lastUsedAt, no event, nothing written", async () => {
    const { key, keyId } = await run.createKey({
      credits: { remaining: 3 },
      ratelimits: [{ name: "requests", limit: 2, duration: 2_592_000_000, autoApply: true }],
    });
    const before = await everythingIn(run.api.store);
    for (let i = 0; i < 5; i++) await run.data("keys.whoami", { key });
    expect(await everythingIn(run.api.store)).toEqual(before);
    expect(await run.getKey(keyId)).not.toHaveProperty("lastUsedAt");
    expect(await run.verify(key)).toMatchObject({ valid: true, credits: 2, ratelimits: [{ remaining: 1 }] });
  });

  test("[keys §8] plaintext is never in the answer", async () => {
    const { key, keyId } = await run.createKey();
    await run.api.store.collection("keys").updateOne({ _id: keyId }, { $set: { encrypted: { keyId: "k", ciphertext: "AAAA" } } });
    expect(await run.data("keys.whoami", { key })).toEqual({
      keyId,
      start: key.slice(0, 4),
      enabled: true,
      createdAt: expect.any(Number),
    });
  });

  test("[keys §8] the secret is compared exactly: nothing is trimmed, folded or completed", async () => {
    const { key } = await run.createKey({ prefix: "App" });
    const secretPart = key.slice(key.lastIndexOf("_") + 1);
    const wrong = [
      ` ${key}`,
      `${key} `,
      `${key}\n`,
      key.toLowerCase(),
      key.toUpperCase(),
      key.slice(0, -1),
      secretPart,
      `app_${secretPart}`,
      `${key}\u0000`,
    ];
    for (const each of wrong) expectError(await whoami(each), 404, "unkey/data/key_not_found");
  });

  test("[keys §8] an unknown key, a deleted one, one of a deleted API and a root key are 404, all in the same words", async () => {
    const [deleted, erased, orphan] = [await run.createKey(), await run.createKey(), await run.createKey()];
    await run.data("keys.deleteKey", { keyId: deleted.keyId });
    await run.data("keys.deleteKey", { keyId: erased.keyId, permanent: true });
    await run.data("apis.deleteApi", { apiId: orphan.apiId });
    const secrets = ["x", "unknown_secret", "k".repeat(512), deleted.key, erased.key, orphan.key, orphan.keyId, run.api.rootKey];
    const details = new Set<string>();
    for (const secret of secrets) {
      const { detail } = expectError(await whoami(secret), 404, "unkey/data/key_not_found");
      if (secret.length > 1) expect(detail).not.toContain(secret);
      details.add(detail);
    }
    expect(details.size).toBe(1);
  });

  describe("the root key's permission", () => {
    test("[keys §8] without any read_key grant it is 403 before the lookup: the same for known and unknown keys", async () => {
      const { key, apiId } = await run.createKey();
      const weak = await run.api.createRootKey({ permissions: ["api.*.verify_key", `api.${apiId}.update_key`, "api.*.read_api"] });
      const errors = await Promise.all(
        [key, "unknown_secret"].map(async (secret) => expectError(await whoami(secret, weak), 403, "insufficient_permissions")),
      );
      expect(errors[0]?.detail).toContain("api.*.read_key");
      expect(errors[0]).toEqual(errors[1]);
    });

    test("[keys §8] read_key for other APIs only is 404, with exactly the type and detail of an unknown key", async () => {
      const [mine, foreign] = [await run.createKey(), await run.createKey()];
      const rootKey = await run.api.createRootKey({ permissions: [`api.${mine.apiId}.read_key`] });
      const masked = expectError(await whoami(foreign.key, rootKey), 404, "unkey/data/key_not_found");
      expect(masked).toEqual(expectError(await whoami("unknown_secret", rootKey), 404, "unkey/data/key_not_found"));
      expect(masked).toEqual(expectError(await whoami("unknown_secret"), 404, "unkey/data/key_not_found"));
      expect(masked.detail).not.toContain(foreign.apiId);
      expect(await run.data("keys.whoami", { key: mine.key }, rootKey)).toMatchObject({ keyId: mine.keyId });
      await run.data("apis.deleteApi", { apiId: mine.apiId });
      expectError(await whoami(mine.key, rootKey), 404, "unkey/data/key_not_found");
    });

    test("[protocol §8] read_key for every API is enough, and apis is another spelling of api", async () => {
      const { key, keyId, apiId } = await run.createKey();
      for (const permission of ["api.*.read_key", "apis.*.read_key", `apis.${apiId}.read_key`]) {
        const rootKey = await run.api.createRootKey({ permissions: [permission] });
        expect(await run.data("keys.whoami", { key }, rootKey)).toMatchObject({ keyId });
      }
    });
  });

  test.each([
    ["missing", {}],
    ["empty", { key: "" }],
    ["of 513 characters", { key: "k".repeat(513) }],
    ["of 513 astral characters", { key: "😀".repeat(513) }],
  ])("[keys §8] a key %s is 400, and its text is not repeated", async (_, body) => {
    const error = expectError(await run.call("keys.whoami", body), 400, "unkey/application/invalid_input");
    expect(error.errors?.map(({ location }) => location)).toEqual(["body.key"]);
    expect(JSON.stringify(error)).not.toContain("kkk");
  });

  test("[protocol §3] 512 astral characters and U+0000 are a key that is unknown", async () => {
    for (const key of ["😀".repeat(512), "\u0000", " "]) expectError(await whoami(key), 404, "unkey/data/key_not_found");
  });

  if (run.edge !== "v2") return;
  test("[keys §8] other types, null and unknown fields are 400; a keyId is not accepted", async () => {
    for (const [place, body] of [
      ["key", { key: null }],
      ["key", { key: 5 }],
      ["key", { key: ["x"] }],
      ["keyId", { key: "x", keyId: "key_1" }],
      ["decrypt", { key: "x", decrypt: true }],
    ] as const) {
      const error = expectError(await run.call("keys.whoami", body), 400, "unkey/application/invalid_input");
      expect(error.errors?.map(({ location }) => location)).toEqual([`body.${place}`]);
    }
  });
});
