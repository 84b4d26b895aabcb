import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";

const DAY = 86_400_000;
const shared = { name: "shared", limit: 5, duration: 30 * DAY, autoApply: true };

interface Checked {
  readonly name: string;
  readonly limit: number;
  readonly remaining: number;
}

everywhere(
  (run) => {
    const create = async (fields: object = {}): Promise<string> => {
      const externalId = run.unique("user");
      await run.data("identities.createIdentity", { externalId, ...fields });
      return externalId;
    };
    const keyOf = async (externalId: string, fields: object = {}) => run.createKey({ externalId, ...fields });
    const update = (identity: string, fields: object) => run.data("identities.updateIdentity", { identity, ...fields });
    const remove = (identity: string) => run.data("identities.deleteIdentity", { identity });
    /** Verifies and returns the remaining tokens of each checked limit, by name; the code when none was checked. */
    const spend = async (key: string, fields: object = {}): Promise<unknown> => {
      const { code, ratelimits } = await run.verify(key, fields);
      const checked = (ratelimits ?? []) as Checked[];
      return { code, ...Object.fromEntries(checked.map(({ name, remaining }) => [name, remaining])) };
    };
    const naming = (name: string, fields: object = {}) => ({ ratelimits: [{ name, ...fields }] });
    const expect412 = async (key: string, name: string): Promise<string> =>
      expectError(await run.call("keys.verifyKey", { key, ...naming(name) }), 412, "unkey/application/precondition_failed").detail;

    describe("shared limits", () => {
      test("[identities, shared limits] one counter for all keys of the identity, across APIs, existing and future", async () => {
        const user = await create({ ratelimits: [shared] });
        const [a, b] = [await keyOf(user), await keyOf(user)];
        expect(a.apiId).not.toBe(b.apiId);
        expect(await spend(a.key)).toEqual({ code: "VALID", shared: 4 });
        expect(await spend(b.key)).toEqual({ code: "VALID", shared: 3 });
        const c = await keyOf(user, { apiId: a.apiId });
        expect(await spend(c.key, naming("shared", { cost: 3 }))).toEqual({ code: "VALID", shared: 0 });
        for (const { key } of [a, b, c]) expect(await run.verify(key)).toMatchObject({ valid: false, code: "RATE_LIMITED" });
      });

      test("[identities, shared limits] names are independent of one another, and equal names on other identities", async () => {
        const ratelimits = [shared, { ...shared, name: "twin" }];
        const [a, b] = [await create({ ratelimits }), await create({ ratelimits })];
        const [ofA, ofB] = [await keyOf(a), await keyOf(b)];
        expect(await spend(ofA.key, naming("twin", { cost: 4 }))).toEqual({ code: "VALID", shared: 4, twin: 1 });
        expect(await spend(ofB.key)).toEqual({ code: "VALID", shared: 4, twin: 4 });
      });

      test("[identities, shared limits] a key's limit hides the identity's of that name, autoApply and all; getKey shows both", async () => {
        const user = await create({ ratelimits: [shared, { ...shared, name: "free" }] });
        const own = { name: "shared", limit: 9, duration: DAY };
        const { keyId, key } = await keyOf(user, { ratelimits: [own] });
        const verified = await run.verify(key);
        expect((verified.ratelimits as Checked[]).map(({ name }) => name)).toEqual(["free"]);
        expect((verified.identity as { ratelimits: Checked[] }).ratelimits.map(({ name }) => name)).toEqual(["free"]);
        expect(await spend(key, naming("shared"))).toEqual({ code: "VALID", free: 3, shared: 8 });
        const shown = (await run.getKey(keyId)).identity as { ratelimits: Checked[] };
        expect(shown.ratelimits.map(({ name }) => name)).toEqual(["shared", "free"]);
        expect(await spend((await keyOf(user)).key)).toEqual({ code: "VALID", shared: 4, free: 2 });
        await run.data("keys.updateKey", { keyId, ratelimits: [] });
        expect(await spend(key)).toEqual({ code: "VALID", shared: 3, free: 1 });
      });

      test("[identities, shared limits] autoApply false is checked only when named; a named limit is never checked twice", async () => {
        const user = await create({ ratelimits: [shared, { ...shared, name: "on demand", autoApply: false }] });
        const { key } = await keyOf(user);
        expect(await spend(key)).toEqual({ code: "VALID", shared: 4 });
        expect(await spend(key, naming("on demand", { cost: 2 }))).toEqual({ code: "VALID", shared: 3, "on demand": 3 });
        expect(await spend(key, naming("shared", { cost: 2 }))).toEqual({ code: "VALID", shared: 1 });
      });

      test("[identities, shared limits] all or nothing: when one is exceeded no counter moves", async () => {
        const user = await create({ ratelimits: [shared, { ...shared, name: "tight", limit: 1 }] });
        const { key } = await keyOf(user);
        expect(await spend(key)).toEqual({ code: "VALID", shared: 4, tight: 0 });
        expect(await run.verify(key)).toMatchObject({ valid: false, code: "RATE_LIMITED" });
        await update(user, { ratelimits: [shared] });
        expect(await spend(key)).toEqual({ code: "VALID", shared: 3 });
      });

      test("[identities, shared limits] parallel verifications over several keys never exceed the limit", async () => {
        const user = await create({ ratelimits: [shared] });
        const keys = await Promise.all([1, 2, 3, 4].map(() => keyOf(user)));
        const codes = await Promise.all(Array.from({ length: 40 }, async (_, i) => (await run.verify(keys[i % 4]?.key ?? "")).code));
        expect(codes.filter((code) => code === "VALID")).toHaveLength(5);
        expect(codes.filter((code) => code === "RATE_LIMITED")).toHaveLength(35);
      });

      test("[identities, shared limits] an identity and its checked limits in a verification", async () => {
        const user = await create({ meta: { plan: "pro" }, ratelimits: [shared] });
        const { key, keyId } = await keyOf(user);
        const { identity, ratelimits } = await run.verify(key);
        expect(identity).toEqual((await run.getKey(keyId)).identity);
        const [stored] = (identity as { ratelimits: object[] }).ratelimits;
        expect(ratelimits).toEqual([{ ...stored, remaining: 4, exceeded: false, reset: expect.any(Number) }]);
      });
    });

    describe("changes are live at once", () => {
      test("[identities updateIdentity] metadata", async () => {
        const user = await create({ meta: { plan: "free" } });
        const { key } = await keyOf(user);
        expect((await run.verify(key)).identity).toMatchObject({ meta: { plan: "free" } });
        await update(user, { meta: { plan: "pro" } });
        expect((await run.verify(key)).identity).toMatchObject({ meta: { plan: "pro" } });
        await update(user, { meta: {} });
        expect((await run.verify(key)).identity).not.toHaveProperty("meta");
      });

      test("[identities, shared limits] another limit keeps what was consumed: raised it gives the difference, lowered it blocks", async () => {
        const user = await create({ ratelimits: [shared] });
        const { key } = await keyOf(user);
        for (const remaining of [4, 3, 2]) expect(await spend(key)).toEqual({ code: "VALID", shared: remaining });
        await update(user, { ratelimits: [{ ...shared, limit: 10 }] });
        expect(await spend(key)).toEqual({ code: "VALID", shared: 6 });
        await update(user, { ratelimits: [{ ...shared, limit: 2 }] });
        expect(await run.verify(key)).toMatchObject({ code: "RATE_LIMITED" });
        await update(user, { ratelimits: [{ ...shared, limit: 5 }] });
        expect(await spend(key)).toEqual({ code: "VALID", shared: 0 });
      });

      test("[identities, shared limits] another duration or name starts afresh", async () => {
        const user = await create({ ratelimits: [shared] });
        const { key } = await keyOf(user);
        expect(await spend(key)).toEqual({ code: "VALID", shared: 4 });
        await update(user, { ratelimits: [{ ...shared, duration: 60 * DAY }] });
        expect(await spend(key)).toEqual({ code: "VALID", shared: 4 });
        await update(user, { ratelimits: [{ ...shared, name: "renamed" }] });
        expect(await spend(key)).toEqual({ code: "VALID", renamed: 4 });
      });

      test("[identities, shared limits] a new limit applies, a removed one no more: naming it is 412", async () => {
        const user = await create();
        const { key, keyId } = await keyOf(user);
        expect(await spend(key)).toEqual({ code: "VALID" });
        await update(user, { ratelimits: [shared] });
        expect(await spend(key)).toEqual({ code: "VALID", shared: 4 });
        await update(user, { ratelimits: [{ ...shared, autoApply: false }] });
        expect(await spend(key)).toEqual({ code: "VALID" });
        expect(await spend(key, naming("shared"))).toEqual({ code: "VALID", shared: 3 });
        await update(user, { ratelimits: [] });
        const detail = await expect412(key, "shared");
        const identity = await run.data("identities.getIdentity", { identity: user });
        for (const part of ["shared", keyId, identity.id as string]) expect(detail).toContain(part);
      });
    });

    describe("deletion", () => {
      test("[identities deleteIdentity] keys survive without identity and shared limits, all else unchanged", async () => {
        const user = await create({ meta: { a: 1 }, ratelimits: [shared] });
        const own = { name: "own", limit: 10, duration: DAY, autoApply: true };
        const { key, keyId, apiId } = await keyOf(user, { credits: { remaining: 10 }, ratelimits: [own], permissions: ["a.b"] });
        expect(await spend(key)).toEqual({ code: "VALID", own: 9, shared: 4 });
        const before = await run.getKey(keyId);
        await remove(user);
        expect(await spend(key)).toEqual({ code: "VALID", own: 8 });
        expect(await run.verify(key)).not.toHaveProperty("identity");
        await expect412(key, "shared");
        const { identity: _, ...rest } = before;
        const expected = { ...rest, credits: { remaining: 7 } };
        const listed = await run.data("apis.listKeys", { apiId });
        const whoami = await run.data("keys.whoami", { key });
        for (const shown of [await run.getKey(keyId), whoami, (listed as unknown as object[])[0]]) {
          expect({ ...shown, lastUsedAt: undefined }).toEqual({ ...expected, lastUsedAt: undefined });
          expect(shown).not.toHaveProperty("identity");
        }
        expect(await run.data("apis.listKeys", { apiId, externalId: user })).toEqual([]);
      });

      test("[identities deleteIdentity] re-creating the externalId re-attaches no key, for any caller; updateKey does", async () => {
        const user = await create({ ratelimits: [shared] });
        const { key, keyId, apiId } = await keyOf(user);
        expect(await spend(key)).toEqual({ code: "VALID", shared: 4 });
        await remove(user);
        await run.data("identities.createIdentity", { externalId: user, ratelimits: [shared], meta: { again: true } });
        const second = await keyOf(user, { apiId });
        expect(await run.verify(key)).not.toHaveProperty("identity");
        expect(await run.getKey(keyId)).not.toHaveProperty("identity");
        const listed = (await run.data("apis.listKeys", { apiId, externalId: user })) as unknown as { keyId: string }[];
        expect(listed.map((item) => item.keyId)).toEqual([second.keyId]);
        // A re-created identity starts at zero.
        expect(await spend(second.key)).toEqual({ code: "VALID", shared: 4 });
        await run.data("keys.updateKey", { keyId, externalId: user });
        expect(await spend(key)).toEqual({ code: "VALID", shared: 3 });
        await remove(user);
        const third = await keyOf(user, { apiId });
        for (const each of [key, second.key]) expect(await run.verify(each)).not.toHaveProperty("identity");
        expect((await run.verify(third.key)).identity).not.toHaveProperty("ratelimits");
      });

      test("[identities deleteIdentity] null detaches a key of a dead identity cleanly", async () => {
        const user = await create();
        const { keyId } = await keyOf(user);
        await remove(user);
        await run.data("keys.updateKey", { keyId, externalId: null });
        expect(await run.getKey(keyId)).not.toHaveProperty("identity");
      });
    });

    test("[identities, shared limits] another identity brings its limits and counters at once, null frees of them", async () => {
      const [a, b] = [await create({ ratelimits: [shared] }), await create({ ratelimits: [{ ...shared, limit: 100 }] })];
      const { key, keyId } = await keyOf(a);
      const caller = await run.api.createRootKey({ permissions: ["api.*.update_key"] });
      expect(await spend(key)).toEqual({ code: "VALID", shared: 4 });
      await run.data("keys.updateKey", { keyId, externalId: b }, caller);
      expect(await spend(key)).toEqual({ code: "VALID", shared: 99 });
      await run.data("keys.updateKey", { keyId, externalId: null }, caller);
      expect(await spend(key)).toEqual({ code: "VALID" });
      await run.data("keys.updateKey", { keyId, externalId: a }, caller);
      expect(await spend(key)).toEqual({ code: "VALID", shared: 3 });
    });
  },
  ["v2", "grpc"],
);
