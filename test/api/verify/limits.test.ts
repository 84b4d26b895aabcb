// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";

/** Long enough that no window ends while a test runs. */
const MONTH = 2_592_000_000;
/** Another length, and so another counter. */
const OTHER = 5_184_000_000;

interface Limit {
  readonly id: string;
  readonly name: string;
  readonly limit: number;
  readonly remaining: number;
  readonly exceeded: boolean;
}

everywhere((run: Run) => {
  const limitsOf = (verified: Record<string, unknown>): readonly Limit[] => (verified.ratelimits as Limit[] | undefined) ?? [];
  const named = (limit: number, fields: object = {}) => ({ name: "requests", limit, duration: MONTH, ...fields });

  interface OwnedKey {
    readonly key: string;
    readonly keyId: string;
    readonly identityId: string;
    readonly externalId: string;
  }

  /** A key whose identity has these limits; `siblings` more keys share the identity. */
  const keysOfIdentity = async (limits: readonly object[], keyLimits: readonly object[] = [], count = 1): Promise<OwnedKey[]> => {
    const externalId = run.unique("user").replaceAll("-", "_");
    const keys: OwnedKey[] = [];
    for (let i = 0; i < count; i++) {
      const { key, keyId } = await run.createKey({ externalId, ratelimits: keyLimits });
      keys.push({ key, keyId, externalId, identityId: ((await run.getKey(keyId)).identity as { id: string }).id });
    }
    const ratelimits = limits.map((limit, i) => ({
      id: `rl_limitOfTheIdentity${i}`,
      name: "requests",
      limit: 1,
      duration: MONTH,
      autoApply: false,
      ...limit,
    }));
    await run.api.store.collection("identities").updateOne({ _id: keys[0]?.identityId ?? "" }, { $set: { ratelimits } });
    return keys;
  };

  describe("which limits are checked", () => {
    test("[verify §5] limits with autoApply are checked with cost 1, others only when they are named", async () => {
      const { key } = await run.createKey({ ratelimits: [named(5, { autoApply: true }), { name: "tokens", limit: 9, duration: MONTH }] });
      expect(limitsOf(await run.verify(key))).toEqual([
        {
          id: expect.stringMatching(/^rl_/),
          name: "requests",
          limit: 5,
          duration: MONTH,
          autoApply: true,
          exceeded: false,
          remaining: 4,
          reset: expect.any(Number),
        },
      ]);
      const both = limitsOf(await run.verify(key, { ratelimits: [{ name: "tokens", cost: 4 }] }));
      expect(both.map(({ name, remaining }) => [name, remaining])).toEqual([
        ["requests", 3],
        ["tokens", 5],
      ]);
      expect(limitsOf(await run.verify(key, { ratelimits: [] })).map(({ remaining }) => remaining)).toEqual([2]);
    });

    test("[verify §5] naming a limit with autoApply does not check it twice, it only sets its cost", async () => {
      const { key } = await run.createKey({ ratelimits: [named(10, { autoApply: true })] });
      expect(limitsOf(await run.verify(key, { ratelimits: [{ name: "requests", cost: 3 }] }))).toMatchObject([
        { remaining: 7, autoApply: true },
      ]);
      expect(limitsOf(await run.verify(key, { ratelimits: [{ name: "requests", cost: 0 }] }))).toMatchObject([{ remaining: 7 }]);
      expect(limitsOf(await run.verify(key, { ratelimits: [{ name: "requests" }] }))).toMatchObject([{ remaining: 6 }]);
    });

    test("[verify §5] a later item of the same name replaces an earlier one, also one that names no limit", async () => {
      const { key } = await run.createKey({ ratelimits: [named(10)] });
      const items = [
        { name: "requests", cost: 9 },
        { name: "inline" },
        { name: "requests", cost: 2 },
        { name: "inline", limit: 4, duration: MONTH },
      ];
      expect(limitsOf(await run.verify(key, { ratelimits: items })).map(({ name, remaining }) => [name, remaining])).toEqual([
        ["inline", 3],
        ["requests", 8],
      ]);
    });

    test("[verify §3] results are sorted by name", async () => {
      const names = ["zulu", "Alpha", "alpha", "mike", "émile"];
      const { key } = await run.createKey({ ratelimits: names.map((name) => named(5, { name, autoApply: true })) });
      expect(limitsOf(await run.verify(key)).map(({ name }) => name)).toEqual([...names].sort());
    });

    test("[verify §5] names are case-sensitive", async () => {
      const { key } = await run.createKey({ ratelimits: [named(5)] });
      expectError(await run.call("keys.verifyKey", { key, ratelimits: [{ name: "Requests" }] }), 412, "application/precondition_failed");
    });
  });

  describe("limits of the identity", () => {
    test("[verify §5] they apply to every key of the identity, and count for all of them together", async () => {
      const [first, second] = (await keysOfIdentity([{ limit: 3, autoApply: true }], [], 2)) as [OwnedKey, OwnedKey];
      expect(limitsOf(await run.verify(first.key))).toMatchObject([{ id: "rl_limitOfTheIdentity0", remaining: 2 }]);
      expect(limitsOf(await run.verify(second.key))).toMatchObject([{ remaining: 1 }]);
      expect(limitsOf(await run.verify(first.key))).toMatchObject([{ remaining: 0 }]);
      expect((await run.verify(second.key)).code).toBe("RATE_LIMITED");
    });

    test("[verify §5] a limit of the key shadows one of the identity completely, its autoApply flag included", async () => {
      const [owned] = (await keysOfIdentity([{ limit: 1, autoApply: true }], [named(7)])) as [OwnedKey];
      const verified = await run.verify(owned.key);
      expect(verified.code).toBe("VALID");
      expect(verified).not.toHaveProperty("ratelimits");
      expect(verified.identity).toEqual({ id: owned.identityId, externalId: owned.externalId });
      expect(limitsOf(await run.verify(owned.key, { ratelimits: [{ name: "requests" }] }))).toMatchObject([
        { limit: 7, remaining: 6, autoApply: false },
      ]);
    });

    test("[verify §5] an inline limit counts per key even when a limit of the identity has that name, and replaces it for the call", async () => {
      const [first, second] = (await keysOfIdentity([{ limit: 1, autoApply: true }], [], 2)) as [OwnedKey, OwnedKey];
      const inline = { ratelimits: [named(2)] };
      for (const { key } of [first, second]) {
        expect(limitsOf(await run.verify(key, inline))).toMatchObject([{ id: "", limit: 2, remaining: 1, autoApply: false }]);
      }
      expect(limitsOf(await run.verify(first.key))).toMatchObject([{ id: "rl_limitOfTheIdentity0", limit: 1, remaining: 0 }]);
    });

    test("[verify §5] a lone limit or duration keeps the identity as what is counted", async () => {
      const [first, second] = (await keysOfIdentity([{ limit: 4 }], [], 2)) as [OwnedKey, OwnedKey];
      const raised = { ratelimits: [{ name: "requests", limit: 6 }] };
      expect(limitsOf(await run.verify(first.key, raised))).toMatchObject([{ id: "rl_limitOfTheIdentity0", limit: 6, remaining: 5 }]);
      expect(limitsOf(await run.verify(second.key, raised))).toMatchObject([{ remaining: 4 }]);
      const longer = { ratelimits: [{ name: "requests", duration: OTHER }] };
      expect(limitsOf(await run.verify(first.key, longer))).toMatchObject([
        { id: "rl_limitOfTheIdentity0", limit: 4, duration: OTHER, remaining: 3 },
      ]);
      expect(limitsOf(await run.verify(second.key, longer))).toMatchObject([{ remaining: 2 }]);
    });
  });

  describe("limits of the call", () => {
    test("[verify §5] limit and duration together are an inline limit, which needs no stored one", async () => {
      const { key } = await run.createKey();
      const inline = { ratelimits: [named(2)] };
      expect(limitsOf(await run.verify(key, inline))).toEqual([
        { id: "", name: "requests", limit: 2, duration: MONTH, autoApply: false, exceeded: false, remaining: 1, reset: expect.any(Number) },
      ]);
      await run.verify(key, inline);
      expect(await run.verify(key, inline)).toMatchObject({ code: "RATE_LIMITED", ratelimits: [{ exceeded: true, remaining: 0 }] });
    });

    test("[verify §5] a lone limit or a lone duration replaces the stored value for this call; id and autoApply stay", async () => {
      const { key } = await run.createKey({ ratelimits: [named(2, { autoApply: true })] });
      expect(limitsOf(await run.verify(key, { ratelimits: [{ name: "requests", limit: 9 }] }))).toMatchObject([
        { id: expect.stringMatching(/^rl_/), limit: 9, duration: MONTH, autoApply: true, remaining: 8 },
      ]);
      expect(limitsOf(await run.verify(key, { ratelimits: [{ name: "requests", duration: OTHER }] }))).toMatchObject([
        { id: expect.stringMatching(/^rl_/), limit: 2, duration: OTHER, autoApply: true, remaining: 1 },
      ]);
      expect(limitsOf(await run.verify(key))).toMatchObject([{ limit: 2, duration: MONTH, remaining: 0 }]);
    });

    test("[verify §5] an inline limit of the same name and duration shares the counter of the key's limit", async () => {
      const { key } = await run.createKey({ ratelimits: [named(5)] });
      await run.verify(key, { ratelimits: [{ name: "requests", cost: 3 }] });
      expect(limitsOf(await run.verify(key, { ratelimits: [named(100)] }))).toMatchObject([{ id: "", remaining: 96 }]);
      expect(limitsOf(await run.verify(key, { ratelimits: [{ name: "requests" }] }))).toMatchObject([{ remaining: 0 }]);
    });

    test("[verify §5] a name that nothing defines is 412 naming the limit, the key and its identity, and spends nothing", async () => {
      const [owned] = (await keysOfIdentity([], [named(5, { autoApply: true })])) as [OwnedKey];
      await run.data("keys.updateKey", { keyId: owned.keyId, credits: { remaining: 1 } });
      for (const item of [{ name: "unknown" }, { name: "unknown", limit: 5 }, { name: "unknown", duration: MONTH }]) {
        const error = expectError(
          await run.call("keys.verifyKey", { key: owned.key, ratelimits: [item] }),
          412,
          "unkey/application/precondition_failed",
        );
        for (const part of ["unknown", owned.keyId, owned.identityId, owned.externalId]) expect(error.detail).toContain(part);
      }
      expect(await run.verify(owned.key)).toMatchObject({ code: "VALID", credits: 0, ratelimits: [{ remaining: 4 }] });

      const { key, keyId } = await run.createKey();
      const error = expectError(await run.call("keys.verifyKey", { key, ratelimits: [{ name: "unknown" }] }), 412, "precondition_failed");
      expect(error.detail).toMatch(/no identity/);
      expect(error.detail).toContain(keyId);
    });
  });

  describe("the identity of a counter", () => {
    const setLimits = (keyId: string, ratelimits: readonly object[]) => run.data("keys.updateKey", { keyId, ratelimits });
    const use = async (key: string, cost = 1) => limitsOf(await run.verify(key, { ratelimits: [{ name: "requests", cost }] }))[0];

    test("[verify §5] raising or lowering a limit keeps the used count", async () => {
      const { key, keyId } = await run.createKey({ ratelimits: [named(3)] });
      await use(key, 3);
      await setLimits(keyId, [named(5)]);
      expect(await use(key)).toMatchObject({ exceeded: false, remaining: 1 });
      await setLimits(keyId, [named(2)]);
      expect(await use(key)).toMatchObject({ exceeded: true, remaining: 0 });
      expect(await use(key, 0)).toMatchObject({ exceeded: true, remaining: 0 });
    });

    test("[verify §5] another duration starts a fresh counter, and the old one is found again", async () => {
      const { key, keyId } = await run.createKey({ ratelimits: [named(3)] });
      await use(key, 3);
      await setLimits(keyId, [named(3, { duration: OTHER })]);
      expect(await use(key)).toMatchObject({ remaining: 2 });
      await setLimits(keyId, [named(4)]);
      expect(await use(key)).toMatchObject({ remaining: 0 });
    });

    test("[verify §5] removing a limit and adding it again within the window does not reset it", async () => {
      const { key, keyId } = await run.createKey({ ratelimits: [named(3)] });
      await use(key, 2);
      await setLimits(keyId, []);
      await setLimits(keyId, [named(3)]);
      expect(await use(key)).toMatchObject({ remaining: 0 });
    });

    test("[verify §5] limits of different names, of different keys, and namespaces of that name never share a counter", async () => {
      const first = await run.createKey({ ratelimits: [named(3), named(3, { name: "other" })] });
      const second = await run.createKey({ ratelimits: [named(3)] });
      await use(first.key, 3);
      expect(await use(second.key)).toMatchObject({ remaining: 2 });
      expect(limitsOf(await run.verify(first.key, { ratelimits: [{ name: "other" }] }))).toMatchObject([{ remaining: 2 }]);
      const namespace = { namespace: "requests", identifier: first.keyId, limit: 3, duration: MONTH };
      expect(await run.data("ratelimit.limit", namespace)).toMatchObject({ success: true, remaining: 2 });
    });
  });

  describe("the check", () => {
    test("[verify §5] all limits of a call are one step: if any denies, none is charged, and each reports its own state", async () => {
      const { key } = await run.createKey({
        ratelimits: [named(9, { name: "wide", autoApply: true }), named(2, { name: "narrow", autoApply: true })],
      });
      await run.verify(key);
      expect(await run.verify(key, { ratelimits: [{ name: "narrow", cost: 2 }] })).toMatchObject({
        code: "RATE_LIMITED",
        ratelimits: [
          { name: "narrow", exceeded: true, remaining: 0 },
          { name: "wide", exceeded: false, remaining: 8 },
        ],
      });
      expect(await run.verify(key)).toMatchObject({
        code: "VALID",
        ratelimits: [
          { name: "narrow", remaining: 0 },
          { name: "wide", remaining: 7 },
        ],
      });
    });

    test("[verify §5] cost 0 passes at the limit and spends nothing; a cost above the limit never passes", async () => {
      const { key } = await run.createKey({ ratelimits: [named(2)] });
      const use = async (cost: number) => limitsOf(await run.verify(key, { ratelimits: [{ name: "requests", cost }] }))[0];
      expect(await use(3)).toMatchObject({ exceeded: true, remaining: 0 });
      expect(await use(Number.MAX_SAFE_INTEGER)).toMatchObject({ exceeded: true, remaining: 0 });
      expect(await use(2)).toMatchObject({ exceeded: false, remaining: 0 });
      expect(await use(0)).toMatchObject({ exceeded: false, remaining: 0 });
      expect(await use(1)).toMatchObject({ exceeded: true, remaining: 0 });
    });

    test("[verify §3] reset is Unix milliseconds of the end of the current window", async () => {
      const { key } = await run.createKey();
      for (const duration of [1_000, 60_000, MONTH, Number.MAX_SAFE_INTEGER]) {
        const before = Date.now();
        const [limit] = limitsOf(await run.verify(key, { ratelimits: [named(5, { duration })] })) as unknown as [{ reset: number }];
        expect(limit.reset % duration).toBe(0);
        expect(limit.reset).toBeGreaterThan(before - 1_000);
        expect(limit.reset).toBeLessThanOrEqual(Math.max(Date.now() + duration, duration));
      }
    });

    test("[verify §2] fifty limits of the longest names can be asked for in one call", async () => {
      const { key } = await run.createKey();
      const items = Array.from({ length: 50 }, (_, i) => named(1, { name: `${String(i).padStart(3, "0")}${"\u{1F511}".repeat(252)}` }));
      expect(limitsOf(await run.verify(key, { ratelimits: items })).map(({ remaining }) => remaining)).toEqual(items.map(() => 0));
      expect((await run.verify(key, { ratelimits: items.slice(49) })).code).toBe("RATE_LIMITED");
    });
  });
});
