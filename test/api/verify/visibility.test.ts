import { describe, expect, test, vi } from "vitest";
import { createId } from "../../../src/platform/base/ids.ts";
import { createChangesRepository } from "../../../src/platform/storage/repositories/changesRepository.ts";
import { dataOf } from "../../support/api.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";

const MONTH = 2_592_000_000;
const PAST = 1_000_000_000_000;
const NOT_FOUND = { valid: false, code: "NOT_FOUND" };

everywhere((run: Run) => {
  /** A key with everything that a verification reads. */
  const fullKey = async () => {
    const role = run.unique("role");
    await run.data("permissions.createRole", { name: role, permissions: ["from.role"] });
    const externalId = run.unique("user").replaceAll("-", "_");
    const limits = [{ name: "requests", limit: 1_000, duration: MONTH, autoApply: true }];
    const made = await run.createKey({
      name: "first",
      meta: { a: 1 },
      externalId,
      roles: [role],
      permissions: ["direct"],
      ratelimits: limits,
      credits: { remaining: 1_000 },
    });
    const identityId = ((await run.getKey(made.keyId)).identity as { id: string }).id;
    return { ...made, role, identityId };
  };

  const changes: readonly (readonly [what: string, change: object, sees: object])[] = [
    ["that it is disabled", { enabled: false }, { valid: false, code: "DISABLED", enabled: false }],
    ["that it has expired", { expires: PAST }, { valid: false, code: "EXPIRED", expires: PAST }],
    ["its new name and metadata", { name: "second", meta: { b: 2 } }, { code: "VALID", name: "second", meta: { b: 2 } }],
    ["its new balance", { credits: { remaining: 5 } }, { code: "VALID", credits: 4 }],
    ["that it is unlimited", { credits: null }, { code: "VALID", credits: undefined }],
    ["that it has no limits", { ratelimits: null }, { code: "VALID", ratelimits: undefined }],
    ["that it has no identity", { externalId: null }, { code: "VALID", identity: undefined }],
    ["its new permissions", { permissions: ["other.direct"] }, { permissions: ["from.role", "other.direct"] }],
    ["its new roles", { roles: [] }, { roles: undefined, permissions: ["direct"] }],
  ];

  describe("on the node that made the change", () => {
    test.each(changes)("[verify §12] the next verification sees %s", async (_, change, sees) => {
      const { key, keyId } = await fullKey();
      expect((await run.verify(key)).code).toBe("VALID");
      await run.data("keys.updateKey", { keyId, ...change });
      expect({
        credits: undefined,
        ratelimits: undefined,
        identity: undefined,
        roles: undefined,
        ...(await run.verify(key)),
      }).toMatchObject(sees);
    });

    test("[verify §12] the next verification of a deleted key, or of a key of a deleted API, is NOT_FOUND", async () => {
      const [soft, permanent, ofApi] = [await fullKey(), await fullKey(), await fullKey()];
      for (const { key } of [soft, permanent, ofApi]) expect((await run.verify(key)).code).toBe("VALID");
      await run.data("keys.deleteKey", { keyId: soft.keyId });
      expect(await run.verify(soft.key)).toEqual(NOT_FOUND);
      await run.data("keys.deleteKey", { keyId: permanent.keyId, permanent: true });
      expect(await run.verify(permanent.key)).toEqual(NOT_FOUND);
      await run.data("apis.deleteApi", { apiId: ofApi.apiId });
      expect(await run.verify(ofApi.key)).toEqual(NOT_FOUND);
    });

    test("[verify §12] disabling, enabling and expiring a key touch neither its balance nor its counters", async () => {
      const { key, keyId } = await fullKey();
      expect(await run.verify(key)).toMatchObject({ credits: 999, ratelimits: [{ remaining: 999 }] });
      for (const change of [{ enabled: false }, { enabled: true }, { expires: PAST }, { expires: null }]) {
        await run.data("keys.updateKey", { keyId, ...change });
        await run.verify(key);
      }
      // Two of those verifications were VALID: after it was enabled, and after it was made permanent.
      expect(await run.verify(key)).toMatchObject({ code: "VALID", credits: 996, ratelimits: [{ remaining: 996 }] });
    });

    test("[verify §12] changes and verifications in turn: each verification sees the change before it", async () => {
      const { key, keyId } = await run.createKey();
      for (let i = 0; i < 20; i++) {
        await run.data("keys.updateKey", { keyId, name: `name ${i}`, enabled: i % 2 === 0 });
        expect(await run.verify(key)).toMatchObject({ name: `name ${i}`, enabled: i % 2 === 0 });
      }
    });

    test("[verify §12] a change during verifications applies to those that start after its answer", async () => {
      const { key, keyId } = await run.createKey();
      for (let i = 0; i < 10; i++) {
        let changed = false;
        const verifying = Array.from({ length: 8 }, async (_, n) => {
          for (let calls = 0; calls < 4; calls++) {
            const after = changed;
            const { name } = await run.verify(key);
            if (after) expect(name, `reader ${n}`).toBe(`name ${i}`);
          }
        });
        await run.data("keys.updateKey", { keyId, name: `name ${i}` });
        changed = true;
        await Promise.all(verifying);
      }
    });
  });

  describe("on another node of the same store", () => {
    const verifyThere = async (key: string) => dataOf(await run.call("keys.verifyKey", { key }, undefined, await run.other()));
    const soon = (look: () => Promise<void>): Promise<void> => vi.waitFor(look, { timeout: 10_000, interval: 50 });

    test("[verify §12] a key is known as soon as it is made", async () => {
      await run.other();
      const { key } = await run.createKey();
      expect((await verifyThere(key)).code).toBe("VALID");
    });

    test("[verify §12] every change of a key is seen within seconds", async () => {
      const keys = await Promise.all(changes.map(fullKey));
      for (const { key } of keys) expect((await verifyThere(key)).code).toBe("VALID");
      await Promise.all(changes.map(([, change], i) => run.data("keys.updateKey", { keyId: keys[i]?.keyId, ...change })));
      const absent = { credits: undefined, ratelimits: undefined, identity: undefined, roles: undefined };
      for (const [i, [what, , sees]] of changes.entries()) {
        // The balance goes down while this waits.
        const wanted = "credits" in sees && sees.credits !== undefined ? { ...sees, credits: expect.toSatisfy((left) => left < 5) } : sees;
        await soon(async () => expect({ ...absent, ...(await verifyThere(keys[i]?.key ?? "")) }, what).toMatchObject(wanted));
      }
    });

    test("[verify §12] the deletion of a key and of an API is seen within seconds", async () => {
      const [deleted, ofApi] = [await fullKey(), await fullKey()];
      for (const { key } of [deleted, ofApi]) expect((await verifyThere(key)).code).toBe("VALID");
      await run.data("keys.deleteKey", { keyId: deleted.keyId });
      await run.data("apis.deleteApi", { apiId: ofApi.apiId });
      for (const { key } of [deleted, ofApi]) await soon(async () => expect(await verifyThere(key)).toEqual(NOT_FOUND));
    });

    test("[verify §12] another node's writes to roles, permissions and identities are seen within seconds", async () => {
      const [first, second, third] = [await fullKey(), await fullKey(), await fullKey()];
      for (const { key } of [first, second, third]) expect((await run.verify(key)).code).toBe("VALID");
      const { store } = run.api;
      const roleOf = async ({ role }: { role: string }) =>
        (await store.collection("roles").findOne({ nameKey: role.toLowerCase() }))?._id ?? "";
      const [roleId, deletedRole] = [await roleOf(first), await roleOf(second)];
      const ratelimits = [{ id: "rl_writtenByAnotherNode", name: "ofIdentity", limit: 3, duration: MONTH, autoApply: true }];
      await store.collection("roles").updateOne({ _id: roleId }, { $set: { permissionIds: [] } });
      await store.collection("roles").updateOne({ _id: deletedRole }, { $set: { deletedAt: Date.now() } });
      await store.collection("identities").updateOne({ _id: third.identityId }, { $set: { ratelimits } });
      const ids = [roleId, deletedRole, third.identityId];
      await createChangesRepository(store).append(createId("ch", Date.now()), "node_third", ids, Date.now());

      await soon(async () => expect((await run.verify(first.key)).permissions).toEqual(["direct"]));
      await soon(async () => expect(await run.verify(second.key)).not.toHaveProperty("roles"));
      await soon(async () =>
        expect((await run.verify(third.key)).ratelimits).toMatchObject([
          { id: "rl_writtenByAnotherNode", name: "ofIdentity" },
          { name: "requests" },
        ]),
      );
    });
  });
});
