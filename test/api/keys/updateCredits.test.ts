import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { createTestClock } from "../../support/testClock.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

const MOST = Number.MAX_SAFE_INTEGER;
const clock = createTestClock(Date.parse("2031-05-06T07:08:09Z"));

type Operation = "set" | "increment" | "decrement";

everywhere(
  (run) => {
    const update = (keyId: string, operation: Operation, value?: number | null, rootKey?: string) =>
      run.data("keys.updateCredits", { keyId, operation, ...(value === undefined ? {} : { value }) }, rootKey);
    const refused = async (keyId: string, operation: Operation, value?: number | null) => {
      const body = { keyId, operation, ...(value === undefined ? {} : { value }) };
      const before = await run.getKey(keyId);
      const error = expectError(await run.call("keys.updateCredits", body), 400, "unkey/application/invalid_input");
      expect(await run.getKey(keyId)).toEqual(before);
      return error;
    };
    const refill = { interval: "monthly", amount: 5, refillDay: 31 };
    const unlimited = () => run.createKey();
    const limited = (remaining: number, fields: object = {}) => run.createKey({ credits: { remaining, ...fields } });

    describe("set", () => {
      test.each([0, 1, 7, 2_147_483_647, 2_147_483_648, MOST])(
        "[keys §9] replaces the balance by %i, which the next verification spends from",
        async (value) => {
          const { keyId, key } = await limited(3);
          expect(await run.verify(key)).toMatchObject({ valid: true, credits: 2 });
          expect(await update(keyId, "set", value)).toEqual({ remaining: value });
          expect((await run.getKey(keyId)).credits).toEqual({ remaining: value });
          expect(await run.verify(key)).toMatchObject(
            value === 0 ? { code: "USAGE_EXCEEDED", credits: 0 } : { code: "VALID", credits: value - 1 },
          );
        },
      );

      test("[keys §9] with a number limits a key that was unlimited", async () => {
        const { keyId, key } = await unlimited();
        expect(await run.verify(key)).not.toHaveProperty("credits");
        expect(await update(keyId, "set", 2)).toEqual({ remaining: 2 });
        expect(await run.verify(key)).toMatchObject({ credits: 1 });
      });

      test("[keys §9] with a number keeps the refill and shows it", async () => {
        for (const kept of [refill, { interval: "daily", amount: 9 }]) {
          const { keyId } = await limited(3, { refill: kept });
          expect(await update(keyId, "set", 50)).toEqual({ remaining: 50, refill: kept });
          expect((await run.getKey(keyId)).credits).toEqual({ remaining: 50, refill: kept });
        }
      });

      test.each([
        ["with null", null],
        ["without value", undefined],
      ])("[keys §9] %s makes the key unlimited and removes the refill, for good", async (_, value) => {
        const { keyId, key } = await limited(0, { refill });
        expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED" });
        expect(await update(keyId, "set", value)).toEqual({ remaining: null });
        expect(await run.getKey(keyId)).not.toHaveProperty("credits");
        const verified = await run.verify(key);
        expect(verified).toMatchObject({ code: "VALID" });
        expect(verified).not.toHaveProperty("credits");
        // No hidden refill comes back with the next balance.
        expect(await update(keyId, "set", 1)).toEqual({ remaining: 1 });
        expect(await update(keyId, "set", null)).toEqual({ remaining: null });
        expect(await update(keyId, "set", null)).toEqual({ remaining: null });
      });
    });

    describe("increment and decrement", () => {
      test("[keys §9] change the balance by value, keep the refill, and hold for the next verification", async () => {
        const { keyId, key } = await limited(10, { refill });
        expect(await update(keyId, "increment", 5)).toEqual({ remaining: 15, refill });
        expect(await run.verify(key)).toMatchObject({ credits: 14 });
        expect(await update(keyId, "decrement", 4)).toEqual({ remaining: 10, refill });
        expect(await run.verify(key)).toMatchObject({ credits: 9 });
        expect((await run.getKey(keyId)).credits).toEqual({ remaining: 9, refill });
      });

      test("[keys §9] increment an exhausted key: it is VALID again", async () => {
        const { keyId, key } = await limited(0);
        expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED" });
        expect(await update(keyId, "increment", 1)).toEqual({ remaining: 1 });
        expect(await run.verify(key)).toMatchObject({ code: "VALID", credits: 0 });
      });

      test("[keys §9] decrement stops at 0", async () => {
        for (const [remaining, value] of [
          [3, 3],
          [3, 4],
          [0, 1],
          [5, MOST],
          [MOST, MOST],
        ] as const) {
          const { keyId, key } = await limited(remaining);
          expect(await update(keyId, "decrement", value)).toEqual({ remaining: 0 });
          expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED", credits: 0 });
        }
      });

      test.each(["increment", "decrement"] as const)("[keys §9] %s by 0 is valid and changes nothing", async (operation) => {
        const name = run.unique("nothing");
        const rootKey = await run.api.createRootKey({ name });
        for (const remaining of [0, 7, MOST]) {
          const { keyId } = await limited(remaining, { refill });
          clock.advance(1);
          const before = await run.getKey(keyId);
          expect(await update(keyId, operation, 0, rootKey)).toEqual({ remaining, refill });
          expect(await run.getKey(keyId)).toEqual(before);
        }
        expect(await eventsBy(run.api.store, name)).toEqual([]);
      });

      test("[keys §9] large numbers are exact, up to 2^53-1; a sum above it is 400 and changes nothing", async () => {
        const { keyId, key } = await limited(2_147_483_647);
        expect(await update(keyId, "increment", 1)).toEqual({ remaining: 2_147_483_648 });
        expect(await update(keyId, "increment", MOST - 2_147_483_649)).toEqual({ remaining: MOST - 1 });
        const error = await refused(keyId, "increment", 2);
        expect(error.detail).toContain(String(MOST));
        expect(await update(keyId, "increment", 1)).toEqual({ remaining: MOST });
        await refused(keyId, "increment", 1);
        await refused(keyId, "increment", MOST);
        expect(await run.verify(key)).toMatchObject({ credits: MOST - 1 });
        expect(await update(keyId, "decrement", 2)).toEqual({ remaining: MOST - 3 });
        expect(await update(keyId, "decrement", MOST - 4)).toEqual({ remaining: 1 });
      });

      test("[keys §9] with value omitted or null, or on an unlimited key, they are 400 and change nothing", async () => {
        const [finite, infinite] = [await limited(5), await unlimited()];
        for (const operation of ["increment", "decrement"] as const) {
          for (const value of [undefined, null]) {
            const error = await refused(finite.keyId, operation, value);
            expect(error.errors?.map(({ location }) => location)).toEqual(["body.value"]);
          }
          for (const value of [0, 1]) await refused(infinite.keyId, operation, value);
        }
      });
    });

    test("[keys §9] it sets updatedAt and nothing else but the balance", async () => {
      const { keyId } = await run.createKey({ name: "kept", meta: { a: 1 }, expires: 4_000_000_000_000, credits: { remaining: 5 } });
      for (const [operation, value, remaining] of [
        ["increment", 2, 7],
        ["decrement", 1, 6],
        ["set", 6, 6],
      ] as const) {
        const before = await run.getKey(keyId);
        clock.advance(5);
        await update(keyId, operation, value);
        expect(await run.getKey(keyId)).toEqual({ ...before, credits: { remaining }, updatedAt: clock.now() });
      }
      clock.advance(5);
      await update(keyId, "set");
      const { credits, ...rest } = await run.getKey(keyId);
      expect(credits).toBeUndefined();
      expect(rest).toMatchObject({ name: "kept", updatedAt: clock.now() });
    });

    test("[keys §1.2] disabled and expired keys have credits that can be changed", async () => {
      for (const fields of [{ enabled: false }, { expires: 0 }]) {
        const { keyId } = await run.createKey({ ...fields, credits: { remaining: 1 } });
        expect(await update(keyId, "increment", 1)).toEqual({ remaining: 2 });
      }
    });

    test("[keys §1.10] each change writes one key.update of the root key, a refused one none", async () => {
      const name = run.unique("auditor");
      const rootKey = await run.api.createRootKey({ name });
      const { keyId } = await run.createKey({ name: "audited", credits: { remaining: 5 } });
      await update(keyId, "set", 1, rootKey);
      await update(keyId, "increment", 1, rootKey);
      await update(keyId, "decrement", 1, rootKey);
      await update(keyId, "set", null, rootKey);
      expectError(await run.call("keys.updateCredits", { keyId, operation: "increment", value: 1 }, rootKey), 400, "invalid_input");
      const events = await eventsBy(run.api.store, name);
      expect(events).toHaveLength(4);
      for (const event of events) {
        expect(event).toMatchObject({ event: "key.update", resources: [{ type: "key", id: keyId, name: "audited" }] });
      }
      expect(new Set(events.map(({ correlationId }) => correlationId)).size).toBe(4);
    });

    describe("errors", () => {
      test("[keys §9] a key that is unknown, deleted, of a deleted API or a root key is 404", async () => {
        const [deleted, orphan] = [await limited(1), await limited(1)];
        await run.data("keys.deleteKey", { keyId: deleted.keyId });
        await run.data("apis.deleteApi", { apiId: orphan.apiId });
        const rootKey = await run.api.store.collection("rootKeys").findOne({});
        for (const keyId of ["key_unknown", deleted.keyId, orphan.keyId, rootKey?._id, deleted.key]) {
          expectError(await run.call("keys.updateCredits", { keyId, operation: "set", value: 1 }), 404, "unkey/data/key_not_found");
        }
      });

      test("[keys §1.4] it needs update_key on the key's API: 403 names it, and nothing is written", async () => {
        const { keyId, apiId } = await limited(1);
        const other = await limited(1);
        const weak = await run.api.createRootKey({ permissions: ["api.*.read_key", "api.*.create_key", `api.${other.apiId}.update_key`] });
        const before = await everythingIn(run.api.store);
        const body = { keyId, operation: "set", value: 9 };
        const { detail } = expectError(await run.call("keys.updateCredits", body, weak), 403, "insufficient_permissions");
        expect(detail).toContain("api.*.update_key");
        expect(detail).toContain(`api.${apiId}.update_key`);
        expect(await everythingIn(run.api.store)).toEqual(before);
        // The permission is judged before what the balance allows, the key before the permission.
        const impossible = { keyId: (await unlimited()).keyId, operation: "increment", value: 1 };
        expectError(await run.call("keys.updateCredits", impossible, weak), 403, "insufficient_permissions");
        expectError(await run.call("keys.updateCredits", { ...body, keyId: "key_unknown" }, weak), 404, "key_not_found");
        const enough = await run.api.createRootKey({ permissions: [`apis.${apiId}.update_key`] });
        expect(await run.data("keys.updateCredits", body, enough)).toEqual({ remaining: 9 });
      });

      test.each([
        ["keyId", { operation: "set", value: 1 }],
        ["keyId", { keyId: "ab", operation: "set", value: 1 }],
        ["keyId", { keyId: "key-1", operation: "set", value: 1 }],
        ["operation", { keyId: "key_1", value: 1 }],
      ])("[keys §9] a missing or malformed %s is 400: %o", async (field, body) => {
        const error = expectError(await run.call("keys.updateCredits", body), 400, "unkey/application/invalid_input");
        expect(error.errors?.map(({ location }) => location)).toEqual([`body.${field}`]);
      });
    });

    if (run.edge !== "v2") return;
    test("[keys §9] an unknown operation, a value out of bounds, another type and an unknown field are 400", async () => {
      const { keyId } = await limited(1);
      for (const [place, fields] of [
        ["operation", { operation: "SET", value: 1 }],
        ["operation", { operation: "reset", value: 1 }],
        ["operation", { operation: null, value: 1 }],
        ["operation", { operation: 1, value: 1 }],
        ...[-1, 1.5, "5", true, [], MOST + 1, 1e300].map((value) => ["value", { operation: "increment", value }] as const),
        ["value", { operation: "set", value: -1 }],
        ["value", { operation: "set", value: MOST + 1 }],
        ["amount", { operation: "set", value: 1, amount: 1 }],
        ["refill", { operation: "set", value: 1, refill }],
      ] as const) {
        const answer = await run.call("keys.updateCredits", { keyId, ...fields });
        const error = expectError(answer, 400, "unkey/application/invalid_input");
        expect(error.errors?.[0]?.location, JSON.stringify(fields)).toBe(`body.${place}`);
      }
      expect((await run.getKey(keyId)).credits).toEqual({ remaining: 1 });
    });
  },
  undefined,
  { clock },
);
