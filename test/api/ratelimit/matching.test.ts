// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { everywhere, type Run } from "../../support/everywhere.ts";

/** Long enough that no window ends while a test runs. */
const MONTH = 2_592_000_000;

interface Checked {
  readonly success: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
  readonly overrideId?: string;
}

everywhere(
  (run: Run) => {
    /** A namespace of its own with these overrides; the limit of each is its place in the list, from 11 on. */
    const openNamespace = async (...identifiers: readonly string[]) => {
      const namespace = run.unique("matching");
      const check = async (identifier: string, fields: object = {}): Promise<Checked> =>
        (await run.data("ratelimit.limit", { namespace, identifier, limit: 10, duration: MONTH, ...fields })) as unknown as Checked;
      const set = async (identifier: string, limit: number, duration = MONTH): Promise<string> =>
        (await run.data("ratelimit.setOverride", { namespace, identifier, limit, duration })).overrideId as string;
      await check("the first one");
      for (const [i, identifier] of identifiers.entries()) await set(identifier, 11 + i);
      const remove = (identifier: string) => run.data("ratelimit.deleteOverride", { namespace, identifier });
      /** The override that decides about an identifier, by its text. */
      const match = async (identifier: string): Promise<string | undefined> => {
        const { limit, overrideId } = await check(identifier, { cost: 0 });
        expect(overrideId !== undefined).toBe(limit !== 10);
        return identifiers[limit - 11];
      };
      return { namespace, check, set, remove, match };
    };

    test("[ratelimit §5] an equal identifier wins over every pattern, also when it contains a star; else the request's values hold", async () => {
      const { match } = await openNamespace("user_*", "user_1", "literal*star", "lit*");
      expect(await match("user_1")).toBe("user_1");
      expect(await match("user_2")).toBe("user_*");
      expect(await match("literal*star")).toBe("literal*star");
      expect(await match("literal and star")).toBe("literal*star");
      expect(await match("nobody")).toBeUndefined();
      expect(await match("user")).toBeUndefined();
    });

    test("[ratelimit §5] a star matches any run, the empty one and line breaks included, anywhere and any number of times", async () => {
      const { match } = await openNamespace("a*", "*z", "b*c*d", "**mid**");
      for (const [identifier, override] of [
        ["a", "a*"],
        ["a\nb\r\nc", "a*"],
        ["z", "*z"],
        ["\u{1F511}z", "*z"],
        ["bcd", "b*c*d"],
        ["b..c\n..d", "b*c*d"],
        ["bcdcd", "b*c*d"],
        ["mid", "**mid**"],
        ["<mid>", "**mid**"],
        ["bcde", undefined],
        ["bd", undefined],
        ["xa", undefined],
        ["z ", undefined],
      ] as const)
        expect([identifier, await match(identifier)]).toEqual([identifier, override]);
    });

    test("[ratelimit §5] everything but the star is literal, case-sensitive, and may be beyond ASCII", async () => {
      const { match } = await openNamespace("a.c*", "x+?[y]\\*", "$^|()*", "\u00e9t\u00e9*", "\u{1F511}*");
      for (const [identifier, override] of [
        ["a.c1", "a.c*"],
        ["abc1", undefined],
        ["x+?[y]\\1", "x+?[y]\\*"],
        ["xx[y]1", undefined],
        ["xy1", undefined],
        ["$^|()1", "$^|()*"],
        ["A.C1", undefined],
        ["\u00e9t\u00e9 2026", "\u00e9t\u00e9*"],
        ["e\u0301te\u0301 2026", undefined],
        ["\u{1F511}\u{1F511}", "\u{1F511}*"],
      ] as const)
        expect([identifier, await match(identifier)]).toEqual([identifier, override]);
    });

    test("[ratelimit §5] the pattern with the most literal code points wins; ties are broken by code point order", async () => {
      const { match } = await openNamespace("*", "u*", "*er_1", "us*", "*_1", "\u{1F511}*b", "\uff5e*b", "***long");
      expect(await match("user_1")).toBe("*er_1");
      expect(await match("use")).toBe("us*");
      expect(await match("u")).toBe("u*");
      // `*` comes before `u` in code point order.
      expect(await match("us_1")).toBe("*_1");
      expect(await match("anything")).toBe("*");
      expect(await match("long")).toBe("***long");
      // U+FF5E is less than U+1F511, though not in UTF-16.
      const tie = await openNamespace("*\u{1F511}", "*\uff5e*", "\u{1F511}*", "\uff5e*");
      expect(await tie.match("\uff5e\u{1F511}")).toBe("*\uff5e*");
    });

    test("[ratelimit §5] a star in a request's identifier is plain text", async () => {
      const { match } = await openNamespace("user_1", "team_*");
      expect(await match("user_*")).toBeUndefined();
      expect(await match("*")).toBeUndefined();
      expect(await match("team_*")).toBe("team_*");
      expect(await match("team_**")).toBe("team_*");
    });

    test("[ratelimit §5] limit and duration are replaced, the cost is not, and the request's values are still validated", async () => {
      const { namespace, check, set } = await openNamespace();
      const overrideId = await set("user", 5, MONTH / 2);
      const { reset, ...checked } = await check("user", { limit: 1, cost: 3 });
      expect(checked).toEqual({ success: true, limit: 5, remaining: 2, overrideId });
      expect(reset % (MONTH / 2)).toBe(0);
      const body = { namespace, identifier: "user", limit: 1, duration: 999 };
      expect((await run.call("ratelimit.limit", run.edge === "v2" ? body : { ...body, duration: 1_000, limit: 1 })).status).toBe(
        run.edge === "v2" ? 400 : 200,
      );
    });

    test("[ratelimit §5] each identifier under a pattern has a counter of its own", async () => {
      const { check } = await openNamespace("user_*");
      expect(await check("user_1")).toMatchObject({ limit: 11, remaining: 10 });
      expect(await check("user_1")).toMatchObject({ remaining: 9 });
      expect(await check("user_2")).toMatchObject({ remaining: 10 });
    });

    test("[ratelimit §5] with the base duration it keeps the base counter; another duration starts a new one, and deleting leads back", async () => {
      const { check, set, remove } = await openNamespace();
      await check("user", { cost: 4 });
      await set("user", 20);
      expect(await check("user")).toMatchObject({ limit: 20, remaining: 15 });
      await set("user", 20, MONTH / 2);
      expect(await check("user")).toMatchObject({ remaining: 19 });
      await remove("user");
      const back = await check("user");
      expect(back).toMatchObject({ limit: 10, remaining: 4 });
      expect(back).not.toHaveProperty("overrideId");
    });

    test("[ratelimit §5] limit 0 blocks every check, peeks included, with a true reset and the override's id", async () => {
      const { namespace, check, set } = await openNamespace();
      const overrideId = await set("blocked*", 0);
      for (const cost of [1, 0, 5]) {
        const checked = await check("blocked_user", { cost });
        expect(checked).toEqual({ success: false, limit: 0, remaining: 0, reset: expect.any(Number), overrideId });
        expect(checked.reset).toBeGreaterThan(Date.now());
      }
      const { passed, limits } = await run.data("ratelimit.multiLimit", [
        { namespace, identifier: "blocked_user", limit: 10, duration: MONTH, cost: 0 },
        { namespace, identifier: "free", limit: 10, duration: MONTH },
      ]);
      expect(passed).toBe(false);
      expect(limits).toMatchObject([
        { passed: false, limit: 0, remaining: 0, overrideId },
        { passed: true, remaining: 10 },
      ]);
    });

    describe("visibility", () => {
      test("[ratelimit §2] setting, replacing and deleting an override holds at once on the node that did it", async () => {
        const { check, set, remove } = await openNamespace();
        for (let round = 0; round < 10; round++) {
          await set("user", 20 + round);
          expect(await check("user", { cost: 0 })).toMatchObject({ limit: 20 + round });
          if (round % 2 === 0) continue;
          await remove("user");
          expect(await check("user", { cost: 0 })).toMatchObject({ limit: 10 });
        }
      });

      test("[ratelimit §2] other nodes apply it in time", async () => {
        const { namespace, set, remove } = await openNamespace();
        const other = await run.other();
        const body = { namespace, identifier: "user", limit: 10, duration: MONTH, cost: 0 };
        const there = async () => (await run.data("ratelimit.limit", body, undefined, other)).limit;
        expect(await there()).toBe(10);
        await set("user", 20);
        await expect.poll(there).toBe(20);
        await remove("user");
        await expect.poll(there).toBe(10);
      });

      test("[ratelimit §11] deleting falls back to the next pattern that matches, then to the request's values", async () => {
        const { match, remove } = await openNamespace("user_1", "user_*", "*");
        for (const identifier of ["user_1", "user_*", "*"]) {
          expect(await match("user_1")).toBe(identifier);
          await remove(identifier);
        }
        expect(await match("user_1")).toBeUndefined();
      });

      test("[ratelimit §3] limits of keys share no counter with a namespace of their name, and its overrides are not theirs", async () => {
        const { namespace, set } = await openNamespace();
        await set("*", 0);
        const { key, keyId } = await run.createKey({ ratelimits: [{ name: namespace, limit: 2, duration: MONTH, autoApply: true }] });
        expect(await run.verify(key)).toMatchObject({ code: "VALID", ratelimits: [{ limit: 2, remaining: 1 }] });
        const body = { namespace: run.unique("keyspace"), identifier: keyId, limit: 2, duration: MONTH };
        for (let i = 0; i < 3; i++) await run.data("ratelimit.limit", body);
        expect(await run.verify(key)).toMatchObject({ code: "VALID", ratelimits: [{ remaining: 0 }] });
      });
    });
  },
  ["v2", "grpc"],
);
