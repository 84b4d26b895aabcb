// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

/** Valid requests of every procedure that finds its key by id. */
const byKeyId: readonly (readonly [string, string, object])[] = [
  ["keys.getKey", "read_key", {}],
  ["keys.updateKey", "update_key", { name: "changed", permissions: ["made.by.refused"], externalId: "made-by-refused" }],
  ["keys.deleteKey", "delete_key", {}],
];

everywhere((run) => {
  /** Runs `calls` and asserts that nothing at all was written. */
  const writesNothing = async (calls: () => Promise<void>): Promise<void> => {
    const before = await everythingIn(run.api.store);
    await calls();
    expect(await everythingIn(run.api.store)).toEqual(before);
  };
  const weak = (...permissions: string[]): Promise<string> => run.api.createRootKey({ name: "weak", permissions });

  describe("400", () => {
    test.each([
      ["a refill while the key is unlimited", { credits: { refill: { interval: "daily", amount: 1 } } }, "credits.refill"],
      [
        "a refill while the key becomes unlimited",
        { credits: { remaining: null, refill: { interval: "daily", amount: 1 } } },
        "credits.remaining",
      ],
      [
        "a daily refill with a day",
        { credits: { remaining: 1, refill: { interval: "daily", amount: 1, refillDay: 1 } } },
        "credits.refill.refillDay",
      ],
      [
        "a DAILY refill with a day",
        { credits: { remaining: 1, refill: { interval: "DAILY", amount: 1, refillDay: 31 } } },
        "credits.refill.refillDay",
      ],
      [
        "a monthly refill without a day",
        { credits: { remaining: 1, refill: { interval: "monthly", amount: 1 } } },
        "credits.refill.refillDay",
      ],
      ["an empty name", { name: "" }, "name"],
      ["an empty externalId", { externalId: "" }, "externalId"],
    ])("[keys §3] %s is 400, and nothing is written, not even what else was asked for", async (_, fields, place) => {
      const { keyId } = await run.createKey();
      const others = { permissions: [run.unique("not.made")], enabled: false, expires: 0, meta: { changed: true } };
      await writesNothing(async () => {
        const error = expectError(
          await run.call("keys.updateKey", { ...others, keyId, ...fields }),
          400,
          "unkey/application/invalid_input",
        );
        expect([...new Set(error.errors?.map(({ location }) => location))]).toEqual([`body.${place}`]);
      });
    });

    test("[keys §3] a refused refill makes no identity and no permission either", async () => {
      const { keyId } = await run.createKey();
      await writesNothing(async () => {
        const fields = {
          externalId: run.unique("user"),
          permissions: [run.unique("slug")],
          credits: { refill: { interval: "daily", amount: 1 } },
        };
        expectError(await run.call("keys.updateKey", { keyId, ...fields }), 400, "invalid_input");
      });
    });

    test("[protocol §6] violations across fields are reported together with those of single fields in one 400", async () => {
      const ratelimits = [{ name: "requests", limit: 1, duration: 1 }];
      const credits = { remaining: 1, refill: { interval: "monthly", amount: 1 } };
      const error = expectError(await run.call("keys.updateKey", { keyId: "x", name: "", ratelimits, credits }), 400, "invalid_input");
      const places = error.errors?.map(({ location }) => location).sort();
      expect(places).toEqual(["body.credits.refill.refillDay", "body.keyId", "body.name", "body.ratelimits[0].duration"]);
    });
  });

  describe("403 and 404", () => {
    test.each(byKeyId)(
      "[protocol §8] %s: an unknown key is 404 for every caller, a known one 403 without %s",
      async (procedure, action, fields) => {
        const { keyId, apiId } = await run.createKey();
        const otherApi = await run.createApi();
        const caller = await weak(`api.${otherApi}.${action}`, "api.*.create_key", "rbac.*.create_permission");
        await writesNothing(async () => {
          expectError(await run.call(procedure, { keyId: "key_unknown", ...fields }, caller), 404, "unkey/data/key_not_found");
          const { detail } = expectError(
            await run.call(procedure, { keyId, ...fields }, caller),
            403,
            "unkey/authorization/insufficient_permissions",
          );
          expect(detail).toContain(`api.${apiId}.${action}`);
          expect(detail).toContain(`api.*.${action}`);
          expect(detail).not.toContain(otherApi);
          expectError(await run.call(procedure, { keyId: "x", ...fields }, caller), 400, "unkey/application/invalid_input");
        });
      },
    );

    test.each(byKeyId)(
      "[keys §1.4] %s: %s for the key's API is enough, no rbac or identity permission is needed",
      async (procedure, action, fields) => {
        const { keyId, apiId } = await run.createKey();
        await run.data(procedure, { keyId, ...fields }, await weak(`api.${apiId}.${action}`));
      },
    );

    test("[keys §1.4] createKey assigns roles and makes permissions and identities with create_key alone", async () => {
      const role = run.unique("role");
      await run.data("permissions.createRole", { name: role });
      const apiId = await run.createApi();
      const body = { apiId, roles: [role], permissions: [run.unique("slug")], externalId: run.unique("user") };
      await run.data("keys.createKey", body, await weak(`apis.${apiId}.create_key`));
    });

    test("[keys §2] a caller without create_key gets the same 403 for existing, deleted and unknown APIs", async () => {
      const [apiId, otherId, deletedId] = [await run.createApi(), await run.createApi(), await run.createApi()];
      await run.data("apis.deleteApi", { apiId: deletedId });
      const caller = await weak(`api.${otherId}.create_key`, "api.*.read_key");
      await writesNothing(async () => {
        const details = [];
        for (const id of [apiId, deletedId, "api_unknown"]) {
          const { detail } = expectError(
            await run.call("keys.createKey", { apiId: id, roles: ["no such role"] }, caller),
            403,
            "insufficient_permissions",
          );
          expect(detail).toContain(`api.${id}.create_key or api.*.create_key`);
          details.push(detail.replaceAll(id, "ID"));
        }
        expect(new Set(details).size).toBe(1);
      });
    });

    test("[keys §2] createKey in a deleted or unknown API is 404", async () => {
      const apiId = await run.createApi();
      await run.data("apis.deleteApi", { apiId });
      await writesNothing(async () => {
        for (const id of [apiId, "api_unknown", "abc"]) {
          const body = { apiId: id, externalId: run.unique("user"), permissions: [run.unique("slug")] };
          expectError(await run.call("keys.createKey", body), 404, "unkey/data/api_not_found");
        }
      });
    });

    test("[keys §1.7] a role that does not exist is 404, names the role, and nothing at all is written", async () => {
      const { keyId, apiId } = await run.createKey();
      const [role, missing] = [run.unique("role"), run.unique("missing.role")];
      await run.data("permissions.createRole", { name: role });
      const fields = { roles: [role, missing], permissions: [run.unique("slug")], externalId: run.unique("user"), name: "changed" };
      await writesNothing(async () => {
        for (const [procedure, body] of [
          ["keys.createKey", { apiId, ...fields }],
          ["keys.updateKey", { keyId, ...fields }],
        ] as const) {
          const { detail } = expectError(await run.call(procedure, body), 404, "unkey/data/role_not_found");
          expect(detail).toContain(missing);
        }
        expectError(await run.call("keys.updateKey", { keyId, roles: [role.toUpperCase()] }), 404, "unkey/data/role_not_found");
      });
    });

    test.each(byKeyId)("[keys §1.1] %s does not find a root key, nor a key by its secret", async (procedure, _, fields) => {
      const rootKeys = await run.api.store.collection("rootKeys").find({}).toArray();
      const { key } = await run.createKey({ prefix: "key" });
      await writesNothing(async () => {
        for (const keyId of [rootKeys[0]?._id, run.api.rootKey, key]) {
          expectError(await run.call(procedure, { keyId, ...fields }), 404, "unkey/data/key_not_found");
        }
      });
    });
  });

  describe("recoverable keys without an encryption key", () => {
    test("[keys §10] recoverable: first 403 for encrypt_key, then 404 for the API, then 412; no key is made", async () => {
      const apiId = await run.createApi();
      const body = { recoverable: true, externalId: run.unique("user"), permissions: [run.unique("slug")] };
      const without = await weak("api.*.create_key");
      const both = await weak("api.*.create_key", `api.${apiId}.encrypt_key`, "api.api_unknown.encrypt_key");
      await writesNothing(async () => {
        const { detail } = expectError(await run.call("keys.createKey", { ...body, apiId }, without), 403, "insufficient_permissions");
        expect(detail).toContain(`api.${apiId}.encrypt_key`);
        expectError(await run.call("keys.createKey", { ...body, apiId: "api_unknown" }, both), 404, "unkey/data/api_not_found");
        expectError(await run.call("keys.createKey", { ...body, apiId }, both), 412, "unkey/application/precondition_failed");
      });
    });

    test("[keys §4] decrypt: first 404, then 403 for read_key and decrypt_key, then 412", async () => {
      const { keyId, apiId } = await run.createKey();
      const body = { keyId, decrypt: true };
      const [read, decrypt, both] = [
        await weak("api.*.read_key"),
        await weak("api.*.decrypt_key"),
        await weak("api.*.read_key", `api.${apiId}.decrypt_key`),
      ];
      expectError(await run.call("keys.getKey", { ...body, keyId: "key_unknown" }, read), 404, "unkey/data/key_not_found");
      expect(expectError(await run.call("keys.getKey", body, read), 403, "insufficient_permissions").detail).toContain("decrypt_key");
      expect(expectError(await run.call("keys.getKey", body, decrypt), 403, "insufficient_permissions").detail).toContain("read_key");
      expectError(await run.call("keys.getKey", { keyId }, decrypt), 403, "insufficient_permissions");
      expectError(await run.call("keys.getKey", body, both), 412, "unkey/application/precondition_failed");
      expect(await run.data("keys.getKey", { keyId, decrypt: false }, both)).not.toHaveProperty("plaintext");
    });
  });

  test("[protocol §11] refused calls and reads have no events", async () => {
    const caller = run.unique("silent");
    const { keyId, apiId } = await run.createKey();
    const rootKey = await run.api.createRootKey({ name: caller, permissions: ["api.*.read_key", "api.*.verify_key"] });
    for (const [procedure, body] of [
      ["keys.createKey", { apiId }],
      ["keys.updateKey", { keyId, name: "no" }],
      ["keys.deleteKey", { keyId }],
      ["keys.getKey", { keyId }],
      ["keys.verifyKey", { key: "unknown" }],
      ["keys.getKey", { keyId: "key_unknown" }],
    ] as const) {
      await run.call(procedure, body, rootKey);
    }
    expect(await eventsBy(run.api.store, caller)).toEqual([]);
  });
});

everywhere(
  (run) => {
    test.each([
      ["keyId", { keyId: null }],
      ["enabled", { enabled: null }],
      ["roles", { roles: null }],
      ["permissions", { permissions: null }],
      ["credits.refill.interval", { credits: { remaining: 1, refill: { amount: 1 } } }],
      ["credits.refill.amount", { credits: { remaining: 1, refill: { interval: "daily" } } }],
      ["credits", { credits: 5 }],
      ["credits", { credits: [] }],
      ["name", { name: ["x"] }],
      ["externalId", { externalId: 5 }],
      ["meta", { meta: "{}" }],
      ["expires", { expires: "2030-01-01" }],
      ["roles[1]", { roles: ["a", null] }],
      ["permissions[0]", { permissions: [{}] }],
      ["key", { key: "secret" }],
    ])("[keys §3] updateKey refuses at %s: %j", async (place, fields) => {
      const { keyId } = await run.createKey();
      const before = await run.getKey(keyId);
      const error = expectError(await run.call("keys.updateKey", { keyId, ...fields }), 400, "unkey/application/invalid_input");
      expect(error.errors?.map(({ location }) => location)).toEqual([`body.${place}`]);
      expect(await run.getKey(keyId)).toEqual(before);
    });

    test("[keys §3] an empty refill is 400 for each of its missing fields", async () => {
      const { keyId } = await run.createKey({ credits: { remaining: 1 } });
      const error = expectError(await run.call("keys.updateKey", { keyId, credits: { refill: {} } }), 400, "invalid_input");
      expect(error.errors?.map(({ location }) => location).sort()).toEqual(["body.credits.refill.amount", "body.credits.refill.interval"]);
    });

    test("[keys §4] looking a key up by its secret is no matter of getKey: the field key is unknown", async () => {
      const { key } = await run.createKey();
      const error = expectError(await run.call("keys.getKey", { key }), 400, "unkey/application/invalid_input");
      expect(error.errors?.map(({ location }) => location).sort()).toEqual(["body.key", "body.keyId"]);
    });

    test("[protocol §3] a lone surrogate in a name is 400, in meta stored or 400, never a 5xx", async () => {
      const { keyId } = await run.createKey();
      expectError(await run.call("keys.updateKey", { keyId, name: "\ud800" }), 400, "invalid_input");
      for (const meta of [{ text: "a\ud800b" }, { "\udfff": 1 }, { text: "\u0000", "\u0000": "\u0000" }]) {
        const { status } = await run.call("keys.updateKey", { keyId, meta });
        expect([200, 400]).toContain(status);
        if (status === 200) expect((await run.getKey(keyId)).meta).toEqual(meta);
      }
    });
  },
  ["v2"],
);
