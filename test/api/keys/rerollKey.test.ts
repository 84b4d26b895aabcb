import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { request } from "../../support/envelope.ts";
import { everywhere } from "../../support/everywhere.ts";
import { createTestClock } from "../../support/testClock.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

const MINUTE = 60_000;
const FAR = 4_102_444_800_000;
/** Twelve seconds into a minute. */
const clock = createTestClock(Date.parse("2031-05-06T07:08:12Z"));
const env = { ENCRYPTION_KEYS: `first:${Buffer.alloc(32, 1).toString("base64")}` };

everywhere(
  (run) => {
    const reroll = async (keyId: string, expiration: number | null = null): Promise<{ keyId: string; key: string }> =>
      (await run.data("keys.rerollKey", { keyId, expiration })) as { keyId: string; key: string };

    describe("the new key", () => {
      test("[keys §6] the answer holds keyId and key of the new key, nothing else, and both keys work", async () => {
        const old = await run.createKey();
        const data = await run.data("keys.rerollKey", { keyId: old.keyId, expiration: MINUTE });
        expect(data).toEqual({ keyId: expect.stringMatching(/^key_[a-zA-Z0-9]{16,}$/), key: expect.stringMatching(/^[1-9A-Za-z]+$/) });
        expect(data.keyId).not.toBe(old.keyId);
        expect(data.key).not.toBe(old.key);
        expect(await run.verify(data.key as string)).toMatchObject({ valid: true, keyId: data.keyId, keyspaceId: old.apiId });
        expect(await run.verify(old.key)).toMatchObject({ valid: true, keyId: old.keyId });
      });

      test("[keys §6] copies name, meta, identity, enabled, expires, credits, refill, permissions, roles and rate limits", async () => {
        const [role, direct, inherited] = [run.unique("role"), run.unique("direct"), run.unique("inherited")];
        await run.data("permissions.createRole", { name: role, permissions: [inherited] });
        const old = await run.createKey({
          name: "original",
          meta: { plan: "pro", "a.b": [null, { $set: 1 }] },
          externalId: run.unique("user"),
          expires: FAR,
          credits: { remaining: 7, refill: { interval: "monthly", amount: 5, refillDay: 31 } },
          permissions: [direct],
          roles: [role],
          ratelimits: [
            { name: "requests", limit: 10, duration: MINUTE, autoApply: true },
            { name: "tokens", limit: 3, duration: MINUTE },
          ],
        });
        await run.verify(old.key, { credits: { cost: 2 } });
        const before = await run.getKey(old.keyId);
        clock.advance(1000);
        const fresh = await reroll(old.keyId, MINUTE);
        const { start: _start, lastUsedAt: _used, ratelimits, ...copied } = before;
        expect(await run.getKey(fresh.keyId)).toEqual({
          ...copied,
          keyId: fresh.keyId,
          start: fresh.key.slice(0, 4),
          createdAt: clock.now(),
          ratelimits: (ratelimits as object[]).map((limit) => ({ ...limit, id: expect.stringMatching(/^rl_/) })),
        });
        expect(before).toMatchObject({ credits: { remaining: 5 }, permissions: [direct, inherited].sort(), expires: FAR });
        expect(await run.verify(fresh.key, { permissions: `${direct} AND ${inherited}` })).toMatchObject({ valid: true, credits: 4 });
      });

      test("[keys §6] its rate limits have ids of their own, and their counters start fresh", async () => {
        const limit = { name: "requests", limit: 2, duration: 3_600_000, autoApply: true };
        const old = await run.createKey({ ratelimits: [limit] });
        for (let i = 0; i < 3; i++) await run.verify(old.key);
        expect(await run.verify(old.key)).toMatchObject({ code: "RATE_LIMITED" });
        const fresh = await reroll(old.keyId);
        expect(await run.verify(fresh.key)).toMatchObject({ valid: true, ratelimits: [{ name: "requests", remaining: 1 }] });
        const ids = await Promise.all(
          [old, fresh].map(async ({ keyId }) => ((await run.getKey(keyId)).ratelimits as { id: string }[])[0]?.id),
        );
        expect(new Set(ids).size).toBe(2);
      });

      test("[keys §6] it has no updatedAt and no lastUsedAt, whatever the original has", async () => {
        const old = await run.createKey({ name: "used" });
        await run.verify(old.key);
        await run.data("keys.updateKey", { keyId: old.keyId, name: "changed" });
        await run.api.store.collection("keys").updateOne({ _id: old.keyId }, { $set: { lastUsedAt: clock.now() } });
        const shown = await run.getKey((await reroll(old.keyId)).keyId);
        expect(shown).toMatchObject({ name: "changed", createdAt: clock.now() });
        expect(shown).not.toHaveProperty("updatedAt");
        expect(shown).not.toHaveProperty("lastUsedAt");
      });

      test.each(["p", "my_app", "sk_live_", "_", "x".repeat(16)])("[keys §6] its prefix is that of the original: %s", async (prefix) => {
        const old = await run.createKey({ prefix });
        for (const { key, keyId } of [await reroll(old.keyId), await reroll((await reroll(old.keyId)).keyId)]) {
          expect(key.slice(0, key.lastIndexOf("_"))).toBe(prefix);
          expect(await run.getKey(keyId)).toMatchObject({ start: key.slice(0, prefix.length + 5) });
        }
      });

      test("[keys §6] a key with only a stored start keeps everything before its last _ as its prefix", async () => {
        const old = await run.createKey({ prefix: "my_app" });
        await run.api.store.collection("keys").updateOne({ _id: old.keyId }, { $unset: { prefix: "", byteLength: "" } });
        expect((await reroll(old.keyId)).key).toMatch(/^my_app_[1-9A-Za-z]{21,22}$/);
        await run.api.store.collection("keys").updateOne({ _id: old.keyId }, { $set: { start: "" } });
        expect((await reroll(old.keyId)).key).toMatch(/^[1-9A-Za-z]{21,22}$/);
      });

      test.each([
        [16, 21, 22],
        [32, 43, 44],
        [255, 347, 349],
      ])("[keys §6] it is never shorter than the original: %i bytes", async (byteLength, shortest, longest) => {
        const old = await run.createKey({ byteLength });
        const { key } = await reroll((await reroll(old.keyId)).keyId);
        expect(key.length).toBeGreaterThanOrEqual(shortest);
        expect(key.length).toBeLessThanOrEqual(longest);
      });

      test("[keys §6] rerolling twice gives two new keys", async () => {
        const old = await run.createKey();
        const keys = [await reroll(old.keyId, MINUTE), await reroll(old.keyId, MINUTE)];
        expect(new Set([old, ...keys].map(({ keyId }) => keyId)).size).toBe(3);
        for (const { key } of keys) expect(await run.verify(key)).toMatchObject({ valid: true });
      });

      test.each([
        ["disabled", { enabled: false }, "DISABLED"],
        ["expired", { expires: 1 }, "EXPIRED"],
        ["exhausted", { credits: { remaining: 0 } }, "USAGE_EXCEEDED"],
        ["disabled, expired and exhausted", { enabled: false, expires: 0, credits: { remaining: 0 } }, "DISABLED"],
      ])("[keys §6] the copy of a key that is %s has the same state", async (_, fields, code) => {
        const old = await run.createKey(fields);
        const fresh = await reroll(old.keyId, MINUTE);
        expect(await run.getKey(fresh.keyId)).toMatchObject(fields);
        expect(await run.verify(fresh.key)).toMatchObject({ valid: false, code });
        expect(await run.verify(old.key)).toMatchObject({ valid: false, code });
      });

      test("[keys §6] of a key that was rerolled at this very moment the copy is expired, too", async () => {
        const old = await run.createKey();
        await reroll(old.keyId, 0);
        const fresh = await reroll(old.keyId);
        expect(await run.verify(fresh.key)).toMatchObject({ valid: false, code: "EXPIRED" });
      });
    });

    describe("the old key", () => {
      test("[keys §6] with expiration 0 it expires now: the very next verification is EXPIRED, while it stays live and readable", async () => {
        const old = await run.createKey({ name: "old" });
        expect(await run.verify(old.key)).toMatchObject({ valid: true });
        await reroll(old.keyId, 0);
        expect(await run.verify(old.key)).toMatchObject({ valid: false, code: "EXPIRED", expires: clock.now() });
        expect(await run.getKey(old.keyId)).toMatchObject({ name: "old", expires: clock.now(), updatedAt: clock.now(), enabled: true });
        expect(await run.data("keys.whoami", { key: old.key })).toMatchObject({ keyId: old.keyId });
        await run.data("keys.updateKey", { keyId: old.keyId, expires: null });
        expect(await run.verify(old.key)).toMatchObject({ valid: true });
      });

      test("[keys §6] otherwise it expires after the time given, rounded up to the next whole minute", async () => {
        const whole = Math.floor(clock.now() / MINUTE) * MINUTE;
        const rest = clock.now() - whole;
        for (const [expiration, minutes] of [
          [1, 1],
          [MINUTE - rest, 1],
          [MINUTE - rest + 1, 2],
          [MINUTE, 2],
          [10 * MINUTE, 11],
          [FAR, Math.ceil((clock.now() + FAR) / MINUTE) - whole / MINUTE],
        ] as const) {
          const old = await run.createKey();
          await reroll(old.keyId, expiration);
          expect(await run.getKey(old.keyId), String(expiration)).toMatchObject({ expires: whole + minutes * MINUTE });
        }
      });

      test("[keys §6] it works up to that moment and is EXPIRED after it; the new key keeps working", async () => {
        const old = await run.createKey();
        const fresh = await reroll(old.keyId, 1);
        const { expires } = await run.getKey(old.keyId);
        clock.advance((expires as number) - clock.now());
        expect(await run.verify(old.key)).toMatchObject({ valid: true, expires });
        clock.advance(1);
        expect(await run.verify(old.key)).toMatchObject({ valid: false, code: "EXPIRED" });
        expect(await run.verify(fresh.key)).toMatchObject({ valid: true });
        clock.advance(11_999);
      });

      test("[keys §6] it never expires later than it would have, and an expired one is not revived", async () => {
        for (const expires of [clock.now() + 5, clock.now(), clock.now() - 1, 0]) {
          const old = await run.createKey({ expires });
          for (const expiration of [10 * MINUTE, 0, null]) {
            const fresh = await reroll(old.keyId, expiration);
            const capped = expiration === 0 ? Math.min(expires, clock.now()) : expect.any(Number);
            expect(await run.getKey(old.keyId)).toMatchObject({ expires: capped });
            expect(await run.getKey(fresh.keyId)).not.toHaveProperty("updatedAt");
          }
          expect((await run.getKey(old.keyId)).expires).toBe(Math.min(expires, clock.now()));
        }
      });

      test("[keys §6] with null it keeps its own expiry, if any, and its updatedAt is now", async () => {
        for (const fields of [{}, { expires: clock.now() + 90_000 }]) {
          const old = await run.createKey(fields);
          clock.advance(1);
          await reroll(old.keyId);
          const { createdAt, updatedAt, expires } = await run.getKey(old.keyId);
          expect({ createdAt, updatedAt, ...(expires === undefined ? {} : { expires }) }).toEqual({
            createdAt: clock.now() - 1,
            updatedAt: clock.now(),
            ...fields,
          });
        }
      });

      test("[keys §6] the copy has the original's own expiry, not the one of the reroll", async () => {
        const old = await run.createKey({ expires: FAR });
        const fresh = await reroll(old.keyId, 0);
        expect(await run.getKey(fresh.keyId)).toMatchObject({ expires: FAR });
        expect(await run.verify(fresh.key)).toMatchObject({ valid: true });
        const permanent = await run.createKey();
        expect(await run.getKey((await reroll(permanent.keyId, 0)).keyId)).not.toHaveProperty("expires");
      });
    });

    describe("errors", () => {
      test.each([
        ["keyId", { expiration: 0 }],
        ["keyId", { keyId: "ab", expiration: 0 }],
        ["keyId", { keyId: "key-1", expiration: 0 }],
        ["expiration", { keyId: "key_1" }],
      ])("[keys §6] a missing or impossible %s is 400: %o", async (field, body) => {
        const error = expectError(await run.call("keys.rerollKey", body), 400, "unkey/application/invalid_input");
        expect(error.errors?.map(({ location }) => location)).toEqual([`body.${field}`]);
      });

      test("[keys §6] a key that is unknown, deleted, of a deleted API or a root key is 404", async () => {
        const [deleted, orphan] = [await run.createKey(), await run.createKey()];
        await run.data("keys.deleteKey", { keyId: deleted.keyId });
        await run.data("apis.deleteApi", { apiId: orphan.apiId });
        const rootKey = await run.api.store.collection("rootKeys").findOne({});
        for (const keyId of ["key_unknown", deleted.keyId, orphan.keyId, rootKey?._id, deleted.key]) {
          expectError(await run.call("keys.rerollKey", { keyId, expiration: 0 }), 404, "unkey/data/key_not_found");
        }
      });

      test("[keys §1.4] it needs create_key, not update_key, on the key's API; without it nothing is written", async () => {
        const old = await run.createKey();
        const { apiId } = await run.createKey();
        const held = ["api.*.update_key", "api.*.read_key", `api.${apiId}.create_key`];
        const weak = await run.api.createRootKey({ permissions: held });
        const before = await everythingIn(run.api.store);
        const { detail } = expectError(
          await run.call("keys.rerollKey", { keyId: old.keyId, expiration: 0 }, weak),
          403,
          "unkey/authorization/insufficient_permissions",
        );
        expect(detail).toContain("api.*.create_key");
        expect(detail).toContain(`api.${old.apiId}.create_key`);
        expect(await everythingIn(run.api.store)).toEqual(before);
        expectError(await run.call("keys.rerollKey", { keyId: "key_unknown", expiration: 0 }, weak), 404, "key_not_found");
        for (const permission of ["api.*.create_key", `apis.${old.apiId}.create_key`]) {
          const rootKey = await run.api.createRootKey({ permissions: [permission] });
          await run.data("keys.rerollKey", { keyId: old.keyId, expiration: null }, rootKey);
        }
      });

      test("[keys §6] for a recoverable key the 403 also names encrypt_key", async () => {
        const old = await run.createKey({ recoverable: true });
        const weak = await run.api.createRootKey({ permissions: ["api.*.create_key"] });
        const { detail } = expectError(await run.call("keys.rerollKey", { keyId: old.keyId, expiration: 0 }, weak), 403, "permissions");
        expect(detail).toContain(`api.${old.apiId}.encrypt_key`);
        expect(detail).not.toContain("create_key");
        const none = await run.api.createRootKey({ permissions: [] });
        const both = expectError(await run.call("keys.rerollKey", { keyId: old.keyId, expiration: 0 }, none), 403, "permissions").detail;
        expect(both).toContain("create_key");
        expect(both).toContain("encrypt_key");
      });
    });

    test("[keys §1.10] it writes one key.reroll, which names the new key, the old key and the API", async () => {
      const name = run.unique("auditor");
      const rootKey = await run.api.createRootKey({ name });
      const old = await run.createKey({ name: "named" });
      const { keyId } = await run.data("keys.rerollKey", { keyId: old.keyId, expiration: 0 }, rootKey);
      expect(await eventsBy(run.api.store, name)).toEqual([
        expect.objectContaining({
          event: "key.reroll",
          time: clock.now(),
          actor: { type: "rootkey", id: expect.stringMatching(/^rk_/), name },
          correlationId: expect.stringMatching(/^cor_/),
          remoteIp: "127.0.0.1",
          resources: [
            { type: "key", id: keyId, name: "named" },
            { type: "key", id: old.keyId, name: "named" },
            { type: "api", id: old.apiId },
          ],
        }),
      ]);
    });

    if (run.edge !== "v2") return;
    test("[keys §6] expiration is null or a whole number of milliseconds from 0 to 4102444800000, and an unknown field is 400", async () => {
      for (const [place, fields] of [
        ["expiration", { expiration: -1 }],
        ["expiration", { expiration: FAR + 1 }],
        ["expiration", { expiration: "60000" }],
        ["expiration", { expiration: 1.5 }],
        ["expiration", { expiration: true }],
        ["expiration", { expiration: {} }],
        ["reason", { expiration: 0, reason: "leaked" }],
        ["byteLength", { expiration: 0, byteLength: 16 }],
      ] as const) {
        const error = expectError(await run.call("keys.rerollKey", { keyId: "key_1", ...fields }), 400, "invalid_input");
        expect(error.errors?.map(({ location }) => location)).toEqual([`body.${place}`]);
      }
    });

    test("[protocol §1] the answer, which holds a secret, is not to be stored", async () => {
      const { keyId } = await run.createKey();
      const { headers, status } = await request(run.api.url, "keys.rerollKey", {
        rootKey: run.api.rootKey,
        body: { keyId, expiration: 0 },
      });
      expect({ status, cacheControl: headers.get("cache-control") }).toEqual({ status: 200, cacheControl: "no-store" });
    });
  },
  undefined,
  { clock, env },
);
