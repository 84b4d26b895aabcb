// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { expectInvalid, rootKeyCalls } from "../../support/rootKeys.ts";

const FAR = 4_102_444_800_000;
const HOUR = 3_600_000;
const forbidden = "unkey/authorization/insufficient_permissions";

everywhere((run) => {
  const { create, reroll, shown, expectAccepted, expectRefused } = rootKeyCalls(run);

  describe("rootKeys.updateKey", () => {
    test("[management §5] sets the expiry, keeps it when it is left out, and null removes it", async () => {
      const { keyId, key } = await create({ name: "lasting" });
      const before = await shown(keyId);
      const soon = Date.now() + HOUR;
      await run.data("rootKeys.updateKey", { keyId, expires: soon });
      expect(await shown(keyId)).toEqual({ ...before, expires: soon });
      await run.data("rootKeys.updateKey", { keyId, name: "renamed" });
      expect(await shown(keyId)).toMatchObject({ name: "renamed", expires: soon });
      await run.data("rootKeys.updateKey", { keyId, expires: FAR });
      expect((await shown(keyId)).expires).toBe(FAR);
      await run.data("rootKeys.updateKey", { keyId, expires: null });
      expect((await shown(keyId)).expires).toBe(null);
      await expectAccepted(key);
    });

    test("[management §5] an expiry that has passed is 400 and changes nothing", async () => {
      const { keyId } = await create({ expires: FAR });
      for (const expires of [0, 1, Date.now() - 1]) {
        expectInvalid(await run.call("rootKeys.updateKey", { keyId, expires }), "body.expires");
      }
      expect((await shown(keyId)).expires).toBe(FAR);
    });

    test("[management §5] a rerolled root key can be given a later expiry again", async () => {
      const { keyId, key } = await create();
      await reroll(keyId, 0);
      await expectRefused(key, "key_expired");
      await run.data("rootKeys.updateKey", { keyId, expires: Date.now() + HOUR });
      await expectAccepted(key);
    });

    test("[management §5] later than the caller's own, or never, is 403 for a caller that expires", async () => {
      const own = Date.now() + HOUR;
      const caller = await run.api.createRootKey({ expires: own });
      const { keyId } = await create({ expires: own });
      for (const expires of [own + 1, FAR, null]) {
        const { detail } = expectError(await run.call("rootKeys.updateKey", { keyId, expires }, caller), 403, forbidden);
        expect(detail).toContain(String(own));
      }
      expect((await shown(keyId)).expires).toBe(own);
      for (const expires of [own, own - 1]) {
        await run.data("rootKeys.updateKey", { keyId, expires }, caller);
        expect((await shown(keyId)).expires).toBe(expires);
      }
    });

    test("[rootkeys §1] a caller that expires cannot shorten one that lives longer than itself", async () => {
      const own = Date.now() + HOUR;
      const caller = await run.api.createRootKey({ expires: own });
      const { keyId } = await create();
      expectError(await run.call("rootKeys.updateKey", { keyId, expires: own }, caller), 403, forbidden);
      expect((await shown(keyId)).expires).toBe(null);
    });
  });

  test("[rootkeys §1] no root key takes back what another node has taken from it, whatever this one remembers", async () => {
    const own = Date.now() + 5 * HOUR;
    const { keyId, key } = await create({ expires: own });
    const other = await run.other();
    await run.data("rootKeys.whoami", {}, key, other);
    await run.api.store.collection("rootKeys").updateOne({ _id: keyId }, { $set: { expires: own - HOUR } });
    expectError(await run.call("rootKeys.updateKey", { keyId, expires: own }, key, other), 403, forbidden);
    expect((await shown(keyId)).expires).toBe(own - HOUR);
  });

  describe("rootKeys.whoami", () => {
    test("[management §5] is the caller's own entry as in listKeys, without any permission", async () => {
      const { keyId, key } = await create({ name: "me", expires: FAR, permissions: ["rbac.*.read_role"] });
      const [mine, listed] = [await run.data("rootKeys.whoami", {}, key), await shown(keyId)];
      expect({ ...mine, lastUsedAt: 0 }).toEqual({ ...listed, lastUsedAt: 0 });
      expect(mine).toMatchObject({ keyId, name: "me", expires: FAR, permissions: ["rbac.*.read_role"] });
      const all = await run.data("rootKeys.whoami", {});
      expect(all).toMatchObject({ expires: null, enabled: true });
      expect(all.permissions).toContain("root_key.*.read_root_key");
    });

    test("[management §5] shows a change of itself at once", async () => {
      const { keyId, key } = await create();
      await run.data("rootKeys.updateKey", { keyId, name: "changed" });
      expect(await run.data("rootKeys.whoami", {}, key)).toMatchObject({ name: "changed" });
    });
  });
});
