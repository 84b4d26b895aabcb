import { describe, expect, test } from "vitest";
import { everywhere, type Run } from "../../support/everywhere.ts";

const MONTH = 2_592_000_000;

const count = <T>(items: readonly T[], wanted: (item: T) => boolean): number => items.filter(wanted).length;
const descending = (from: number, length: number, step = 1): number[] => Array.from({ length }, (_, i) => from - i * step);

everywhere((run: Run) => {
  const withCredits = (remaining: number, fields: object = {}) => run.createKey({ credits: { remaining }, ...fields });
  const balance = async (keyId: string) => ((await run.getKey(keyId)).credits as { remaining: number } | undefined)?.remaining;
  const spend = (key: string, cost: number) => run.verify(key, { credits: { cost } });
  const balances = (verified: readonly Record<string, unknown>[]): number[] =>
    verified.flatMap(({ code, credits }) => (code === "VALID" ? [credits as number] : [])).sort((a, b) => b - a);

  describe("one call", () => {
    test("[verify §6] a call spends 1, or what it says, and VALID shows what is left", async () => {
      const { key, keyId } = await withCredits(10);
      expect(await run.verify(key)).toMatchObject({ code: "VALID", credits: 9 });
      expect(await spend(key, 4)).toMatchObject({ code: "VALID", credits: 5 });
      expect(await spend(key, 5)).toMatchObject({ code: "VALID", credits: 0 });
      expect(await balance(keyId)).toBe(0);
    });

    test("[verify §3] USAGE_EXCEEDED takes nothing and shows the actual balance", async () => {
      const { key, keyId } = await withCredits(5);
      expect(await spend(key, 15)).toMatchObject({ valid: false, code: "USAGE_EXCEEDED", credits: 5 });
      expect(await balance(keyId)).toBe(5);
      expect(await spend(key, 5)).toMatchObject({ code: "VALID", credits: 0 });
      expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED", credits: 0 });
    });

    test("[verify §6] cost 0 always passes, at balance 0, too", async () => {
      const { key, keyId } = await withCredits(0);
      expect(await spend(key, 0)).toMatchObject({ code: "VALID", credits: 0 });
      expect(await balance(keyId)).toBe(0);
      expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED" });
    });

    test("[verify §6] credits in the request are ignored for an unlimited key", async () => {
      const { key } = await run.createKey();
      const verified = await spend(key, 1_000_000_000_000);
      expect(verified.code).toBe("VALID");
      expect(verified).not.toHaveProperty("credits");
    });

    test("[verify §2] the largest balance and the largest cost are exact", async () => {
      const most = Number.MAX_SAFE_INTEGER;
      const { key, keyId } = await withCredits(most);
      expect(await run.verify(key)).toMatchObject({ credits: most - 1 });
      expect(await spend(key, 1_000_000_000_000)).toMatchObject({ code: "VALID", credits: most - 1 - 1_000_000_000_000 });
      const many = await Promise.all(Array.from({ length: 5 }, () => spend(key, 999_999_999_999)));
      expect(balances(many)).toEqual(descending(most - 1_000_000_000_001 - 999_999_999_999, 5, 999_999_999_999));
      expect(await balance(keyId)).toBe(most - 1_000_000_000_001 - 5 * 999_999_999_999);
    });

    test("[verify §3] an outcome that is decided earlier shows the balance and leaves it", async () => {
      const { key, keyId } = await withCredits(7, { ratelimits: [{ name: "once", limit: 1, duration: MONTH, autoApply: true }] });
      await run.verify(key);
      expect(await run.verify(key, { permissions: "not.held" })).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS", credits: 6 });
      expect(await run.verify(key)).toMatchObject({ code: "RATE_LIMITED", credits: 6 });
      await run.data("keys.updateKey", { keyId, enabled: false });
      expect(await run.verify(key)).toMatchObject({ code: "DISABLED", credits: 6 });
      expect(await balance(keyId)).toBe(6);
    });

    test("[verify §11] a call that fails on credits has been charged on its limits", async () => {
      const { key } = await withCredits(1, { ratelimits: [{ name: "three", limit: 3, duration: MONTH, autoApply: true }] });
      expect(await run.verify(key)).toMatchObject({ code: "VALID", ratelimits: [{ remaining: 2 }] });
      expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED", ratelimits: [{ exceeded: false, remaining: 1 }] });
      expect(await run.verify(key)).toMatchObject({ code: "USAGE_EXCEEDED", ratelimits: [{ remaining: 0 }] });
      expect(await run.verify(key)).toMatchObject({ code: "RATE_LIMITED" });
    });
  });

  describe("calls in parallel", () => {
    test("[verify §11] exactly 20 of 50 verifications of a key with 20 credits are VALID, with the balances 19 to 0, each once", async () => {
      for (let round = 0; round < 10; round++) {
        const { key, keyId } = await withCredits(20);
        const verified = await Promise.all(Array.from({ length: 50 }, () => run.verify(key)));
        expect(balances(verified)).toEqual(descending(19, 20));
        expect(count(verified, ({ code }) => code === "USAGE_EXCEEDED")).toBe(30);
        expect(await balance(keyId)).toBe(0);
      }
    });

    test("[verify §11] with cost 3 and balance 20 exactly 6 of 30 pass, and the rest sees the 2 that are left", async () => {
      const { key, keyId } = await withCredits(20);
      const verified = await Promise.all(Array.from({ length: 30 }, () => spend(key, 3)));
      expect(balances(verified)).toEqual([17, 14, 11, 8, 5, 2]);
      expect(count(verified, ({ code, credits }) => code === "USAGE_EXCEEDED" && credits === 2)).toBe(24);
      expect(await balance(keyId)).toBe(2);
    });

    test("[verify §11] two nodes spend one balance: never more, and all of it", async () => {
      const { key, keyId } = await withCredits(60);
      const other = await run.other();
      const verified = await Promise.all(
        Array.from({ length: 100 }, (_, i) => run.data("keys.verifyKey", { key }, undefined, i % 2 === 0 ? run.api : other)),
      );
      expect(balances(verified)).toEqual(descending(59, 60));
      expect(await balance(keyId)).toBe(0);
    });

    test("[verify §11] setting, removing and restoring the balance during verifications loses and revives nothing", async () => {
      const { key, keyId } = await withCredits(1_000);
      const update = (credits: object | null) => run.data("keys.updateKey", { keyId, credits });
      const before = Promise.all(Array.from({ length: 40 }, () => run.verify(key)));
      const [verified] = await Promise.all([before, update({ remaining: 10 }), run.data("keys.updateKey", { keyId, name: "renamed" })]);
      const left = (await balance(keyId)) as number;
      // Those that came before the new balance took from the old one, all others from the new one, down to 0.
      const fromNew = count(verified, ({ code, credits }) => code === "VALID" && (credits as number) < 10);
      expect(left).toBe(10 - fromNew);
      expect(balances(verified).filter((credits) => credits < 10)).toEqual(descending(9, fromNew));

      await update(null);
      const unlimited = await Promise.all(Array.from({ length: 10 }, () => run.verify(key)));
      expect(unlimited.every(({ code, credits }) => code === "VALID" && credits === undefined)).toBe(true);
      await update({ remaining: 5 });
      expect(balances(await Promise.all(Array.from({ length: 10 }, () => run.verify(key))))).toEqual(descending(4, 5));
    });

    test("[verify §11] a key that is deleted during verifications is VALID before and NOT_FOUND after, and nothing else", async () => {
      const { key, keyId } = await withCredits(1_000);
      const [verified] = await Promise.all([
        Promise.all(Array.from({ length: 30 }, () => run.verify(key))),
        run.data("keys.deleteKey", { keyId }),
      ]);
      expect(new Set(verified.map(({ code }) => code)).difference(new Set(["VALID", "NOT_FOUND"]))).toEqual(new Set());
      expect(await run.verify(key)).toEqual({ valid: false, code: "NOT_FOUND" });
    });

    test("[verify §11] a rate-limited call spends no credits: the spent credits equal the limit", async () => {
      const { key, keyId } = await withCredits(50, { ratelimits: [{ name: "eight", limit: 8, duration: MONTH, autoApply: true }] });
      const verified = await Promise.all(Array.from({ length: 40 }, () => run.verify(key)));
      expect(balances(verified)).toEqual(descending(49, 8));
      expect(count(verified, ({ code }) => code === "RATE_LIMITED")).toBe(32);
      expect(await balance(keyId)).toBe(42);
    });

    test("[verify §11] exactly the number of parallel calls pass that the limits admit, through several keys of an identity, too", async () => {
      const externalId = run.unique("user").replaceAll("-", "_");
      const keys: { readonly key: string; readonly keyId: string }[] = [];
      for (const limit of [4, 100]) {
        keys.push(await run.createKey({ externalId, ratelimits: [{ name: "own", limit, duration: MONTH, autoApply: true }] }));
      }
      const identity = (await run.getKey(keys[0]?.keyId ?? "")).identity as { id: string };
      const shared = { id: "rl_limitOfTheIdentity", name: "shared", limit: 30, duration: MONTH, autoApply: true };
      await run.api.store.collection("identities").updateOne({ _id: identity.id }, { $set: { ratelimits: [shared] } });
      const verified = await Promise.all(Array.from({ length: 80 }, (_, i) => run.verify(keys[i % 2]?.key ?? "")));
      // However the first key's refusals fall among the others, the shared limit of 30 is used up to the last token.
      expect(count(verified, ({ code }) => code === "VALID")).toBe(30);
      expect(count(verified, ({ code, keyId }) => code === "VALID" && keyId === keys[0]?.keyId)).toBeLessThanOrEqual(4);
    });
  });
});
