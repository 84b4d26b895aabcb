import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { expectInvalid, rootKeyCalls } from "../../support/rootKeys.ts";
import { eventsBy, eventsIn } from "../../support/written.ts";

const FAR = 4_102_444_800_000;
const HOUR = 3_600_000;

everywhere(
  (run) => {
    const { create, reroll, list, shown, use, expectAccepted, expectRefused } = rootKeyCalls(run);

    describe("rootKeys.updateKey", () => {
      test("[rootkeys §2] changes what is given and keeps the rest; null removes the name; permissions are the complete new set", async () => {
        const { keyId, key } = await create({ name: "first", expires: FAR });
        const before = await shown(keyId);
        expect(await run.data("rootKeys.updateKey", { keyId, name: "second" })).toEqual({});
        expect(await shown(keyId)).toEqual({ ...before, name: "second" });
        await run.data("rootKeys.updateKey", { keyId, permissions: ["rbac.*.read_role", "apis.*.read_api", "api.*.read_api"] });
        expect(await shown(keyId)).toEqual({ ...before, name: "second", permissions: ["api.*.read_api", "rbac.*.read_role"] });
        await run.data("rootKeys.updateKey", { keyId, name: null, enabled: false });
        expect(await shown(keyId)).toMatchObject({ name: null, enabled: false, expires: FAR });
        await expectRefused(key, "key_disabled");
        await run.data("rootKeys.updateKey", { keyId });
        await run.data("rootKeys.updateKey", { keyId, enabled: true, permissions: ["api.*.create_api"] });
        expectError(await use(key), 403, "unkey/authorization/insufficient_permissions");
      });

      test("[rootkeys §2] outside of the bounds is 400 and changes nothing", async () => {
        const { keyId } = await create({ name: "kept" });
        const refused: readonly (readonly [object, string])[] = [
          [{ name: "" }, "body.name"],
          [{ name: "n".repeat(256) }, "body.name"],
          [{ permissions: [] }, "body.permissions"],
          [{ permissions: ["api.*.read_api", "x"] }, "body.permissions[1]"],
          [{ keyId: "rk" }, "body.keyId"],
          [{ keyId: "rk-1" }, "body.keyId"],
          [{ keyId: `rk_${"x".repeat(253)}` }, "body.keyId"],
        ];
        for (const [fields, location] of refused) expectInvalid(await run.call("rootKeys.updateKey", { keyId, ...fields }), location);
        expect(await shown(keyId)).toMatchObject({ name: "kept", permissions: ["api.*.read_api"] });
      });

      test("[rootkeys §2] a root key may change and delete itself with the permission for its own id", async () => {
        const { keyId, key } = await create();
        const own = ["update", "delete", "read"].map((action) => `root_key.${keyId}.${action}_root_key`);
        await run.data("rootKeys.updateKey", { keyId, permissions: ["api.*.read_api", ...own] });
        await run.data("rootKeys.updateKey", { keyId, name: "myself" }, key);
        expect((await list(key)).map((each) => [each.keyId, each.name])).toEqual([[keyId, "myself"]]);
        await run.data("rootKeys.deleteKey", { keyId }, key);
        await expectRefused(key, "key_not_found");
      });
    });

    describe("rootKeys.rerollKey", () => {
      test("[rootkeys §2] makes a new secret with the same name, state, expiry and permissions", async () => {
        const old = await create({ name: "rolled", expires: FAR, permissions: ["api.*.read_api", "rbac.*.read_role"] });
        const fresh = await reroll(old.keyId, null);
        expect(fresh).toEqual({ keyId: expect.stringMatching(/^rk_/), key: expect.stringMatching(/^lkr_[a-zA-Z0-9]{38}$/) });
        expect([fresh.keyId === old.keyId, fresh.key === old.key]).toEqual([false, false]);
        const { name, enabled, expires, permissions } = await shown(old.keyId);
        expect(await shown(fresh.keyId)).toMatchObject({ name, enabled, expires, permissions, lastUsedAt: 0 });
        await expectAccepted(old.key);
        await expectAccepted(fresh.key);
        await run.data("rootKeys.updateKey", { keyId: old.keyId, enabled: false });
        const copy = await reroll(old.keyId, null);
        await expectRefused(copy.key, "key_disabled");
      });

      test("[rootkeys §2] 0 revokes the old one at once and leaves it listed; it can be rerolled again, and the copy has expired too", async () => {
        const old = await create();
        const fresh = await reroll(old.keyId, 0);
        await expectRefused(old.key, "key_expired");
        await expectAccepted(fresh.key);
        expect((await shown(old.keyId)).expires).toBeLessThanOrEqual(Date.now());
        const copy = await reroll(old.keyId, null);
        await expectRefused(copy.key, "key_expired");
      });

      test("[rootkeys §2] n lets the old one expire after n milliseconds, never later than it would; capped at 4102444800000", async () => {
        const soon = Date.now() + HOUR;
        const early = await create({ expires: soon });
        await run.data("rootKeys.rerollKey", { keyId: early.keyId, expiration: 2 * HOUR });
        expect((await shown(early.keyId)).expires).toBe(soon);
        const endless = await create();
        const before = Date.now();
        await run.data("rootKeys.rerollKey", { keyId: endless.keyId, expiration: HOUR });
        const { expires } = await shown(endless.keyId);
        expect(expires).toBeGreaterThanOrEqual(before + HOUR - 1_000);
        expect(expires).toBeLessThanOrEqual(Date.now() + HOUR + 1_000);
        const capped = await create();
        await run.data("rootKeys.rerollKey", { keyId: capped.keyId, expiration: Number.MAX_SAFE_INTEGER });
        expect((await shown(capped.keyId)).expires).toBe(FAR);
      });

      test("[rootkeys §2] expiration is required and at least 0", async () => {
        const { keyId } = await create();
        expectInvalid(await run.call("rootKeys.rerollKey", { keyId }), "body.expiration");
        if (run.edge === "v2") expectInvalid(await run.call("rootKeys.rerollKey", { keyId, expiration: -1 }), "body.expiration");
      });
    });

    describe("rootKeys.deleteKey", () => {
      test("[rootkeys §2] deletes for good: 404 for a second time, unknown to the next call", async () => {
        const { keyId, key } = await create();
        expect(await run.data("rootKeys.deleteKey", { keyId })).toEqual({});
        await expectRefused(key, "key_not_found");
        for (const [procedure, fields] of [
          ["rootKeys.deleteKey", {}],
          ["rootKeys.updateKey", { name: "again" }],
          ["rootKeys.rerollKey", { expiration: 0 }],
        ] as const) {
          expectError(await run.call(procedure, { keyId, ...fields }), 404, "unkey/data/key_not_found");
        }
      });

      test("[rootkeys §2] racing deletes are 200 or 404, at least one is 200, and there is one event", async () => {
        const { keyId } = await create();
        const answers = await Promise.all(Array.from({ length: 8 }, () => run.call("rootKeys.deleteKey", { keyId })));
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(answers.length > 1 ? [200, 404] : [200]));
        const deleted = (await eventsIn(run.api.store)).filter(
          ({ event, resources }) => event === "rootKey.delete" && resources[0]?.id === keyId,
        );
        expect(deleted).toHaveLength(answers.filter(({ status }) => status === 200).length);
      });
    });

    test("[rootkeys §2] an id with another prefix is 404, not 400; keys and root keys do not find each other", async () => {
      const { keyId } = await run.createKey();
      for (const unknown of ["rk_unknown", "key_unknown", "abc", keyId]) {
        for (const [procedure, fields] of [
          ["rootKeys.updateKey", { name: "x" }],
          ["rootKeys.rerollKey", { expiration: 0 }],
          ["rootKeys.deleteKey", {}],
        ] as const) {
          expectError(await run.call(procedure, { keyId: unknown, ...fields }), 404, "unkey/data/key_not_found");
        }
      }
    });

    test("[rootkeys §3] each change has its event, which names the root key and who changed it", async () => {
      const name = run.unique("auditor");
      const caller = await run.api.createRootKey({ name });
      const { keyId } = await create({ name: "audited" }, caller);
      await run.data("rootKeys.updateKey", { keyId, enabled: true }, caller);
      await run.data("rootKeys.updateKey", { keyId, name: "renamed" }, caller);
      const { keyId: copy } = (await run.data("rootKeys.rerollKey", { keyId, expiration: 0 }, caller)) as { keyId: string };
      await run.data("rootKeys.deleteKey", { keyId }, caller);
      const key = (id: string, shownName: string) => ({ type: "key", id, name: shownName });
      expect((await eventsBy(run.api.store, name)).map(({ event, resources }) => [event, resources])).toEqual([
        ["rootKey.create", [key(keyId, "audited")]],
        ["rootKey.update", [key(keyId, "audited")]],
        ["rootKey.update", [key(keyId, "renamed")]],
        ["rootKey.reroll", [key(copy, "renamed"), key(keyId, "renamed")]],
        ["rootKey.delete", [key(keyId, "renamed")]],
      ]);
    });
  },
  ["v2", "grpc", "grpc-js"],
);
