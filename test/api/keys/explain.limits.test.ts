// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { countersOf, type Explanation, explainerOf, stepOf } from "../../support/explanations.ts";
import { createTestClock } from "../../support/testClock.ts";

const MONTH = 2_592_000_000;

/** The one limit of a key, as a node explains it. */
const onlyLimit = (explanation: unknown): { readonly current: number; readonly remaining: number } => {
  const { facts } = stepOf(explanation as Explanation, "ratelimits");
  return (facts.ratelimits as { current: number; remaining: number }[])[0] ?? expect.unreachable();
};

// No budget goes back by itself while the clock stands still.
describe("with a stopped clock", () => {
  everywhere(
    (run) => {
      test("[management §2] the budget of another node counts as used, this node's own does not", async () => {
        const { keyId, key } = await run.createKey({ ratelimits: [{ name: "budget", limit: 1_000, duration: MONTH, autoApply: true }] });
        for (let i = 0; i < 30; i++) await run.verify(key);
        expect(onlyLimit(await run.data("keys.explain", { keyId }))).toMatchObject({ current: 30, remaining: 970 });
        // Only MongoDB has a second node that serves, and counters that can be looked at.
        if (run.engine !== "mongo") return;
        const [stored] = await countersOf(run, keyId);
        expect(stored?.current).toBeGreaterThan(30);
        expect(onlyLimit(await run.data("keys.explain", { keyId }, undefined, await run.other())).current).toBe(stored?.current);
      });
    },
    ["v2"],
    { clock: createTestClock() },
  );
});

everywhere((run) => {
  const explain = explainerOf(run);

  describe("rate limits", () => {
    test("[management §2] each limit has its counter, its cost and where it comes from", async () => {
      const externalId = run.unique("user");
      await run.data("identities.createIdentity", {
        externalId,
        ratelimits: [
          { name: "shared", limit: 50, duration: MONTH, autoApply: true },
          { name: "shadowed", limit: 50, duration: MONTH, autoApply: true },
        ],
      });
      const { keyId, key } = await run.createKey({
        externalId,
        ratelimits: [
          { name: "own", limit: 10, duration: MONTH, autoApply: true },
          { name: "shadowed", limit: 5, duration: MONTH },
        ],
      });
      await run.verify(key, { ratelimits: [{ name: "own", cost: 3 }] });
      const ratelimits = [
        { name: "own", cost: 2 },
        { name: "inline", limit: 7, duration: 60_000, cost: 0 },
      ];
      const explained = await explain({ keyId, ratelimits });
      const start = Math.floor(explained.at / MONTH) * MONTH;
      const counter = { duration: MONTH, windowStart: start, reset: start + MONTH, previous: 0, weighted: 0 };
      const minute = Math.floor(explained.at / 60_000) * 60_000;
      const { outcome, facts } = stepOf(explained, "ratelimits");
      expect(outcome).toBe("passed");
      expect(facts).toEqual({
        ratelimits: [
          {
            ...{ name: "inline", limit: 7, duration: 60_000, cost: 0, source: "request", current: 0, previous: 0, weighted: 0 },
            ...{ remaining: 7, windowStart: expect.any(Number), reset: expect.any(Number) },
          },
          { ...counter, name: "own", limit: 10, cost: 2, source: "key", current: 3, remaining: 7 },
          { ...counter, name: "shared", limit: 50, cost: 1, source: "identity", current: 1, remaining: 49 },
        ],
      });
      const inline = (facts.ratelimits as { windowStart: number; reset: number }[])[0] ?? expect.unreachable();
      expect([minute, minute + 60_000]).toContain(inline.windowStart);
      expect(inline.reset).toBe(inline.windowStart + 60_000);
    });

    test("[management §2] with another time the limits are taken for unused, and that is said", async () => {
      const { keyId, key } = await run.createKey({ ratelimits: [{ name: "once", limit: 1, duration: MONTH, autoApply: true }] });
      await run.verify(key);
      const now = await explain({ keyId });
      expect(now.code).toBe("RATE_LIMITED");
      expect(stepOf(now, "ratelimits").facts).not.toHaveProperty("assumed");
      const { at } = now;
      const assumed = await explain({ keyId, at });
      expect(assumed.code).toBe("VALID");
      const windowStart = Math.floor(at / MONTH) * MONTH;
      expect(stepOf(assumed, "ratelimits").facts).toEqual({
        assumed: true,
        ratelimits: [
          {
            ...{ name: "once", limit: 1, duration: MONTH, cost: 1, source: "key", windowStart, reset: windowStart + MONTH },
            ...{ current: 0, previous: 0, weighted: 0, remaining: 1 },
          },
        ],
      });
      expect(await explain({ keyId, at, ratelimits: [{ name: "once", cost: 2 }] })).toMatchObject({ code: "RATE_LIMITED" });
    });

    test("[management §8] the suggestion raises the key's own limit and keeps the others, and makes it pass", async () => {
      const other = { name: "other", limit: 5, duration: 1_000, autoApply: false };
      const { keyId, key } = await run.createKey({ ratelimits: [{ name: "requests", limit: 2, duration: MONTH, autoApply: true }, other] });
      for (let i = 0; i < 2; i++) await run.verify(key);
      const { code, suggestions } = await explain({ keyId });
      expect(code).toBe("RATE_LIMITED");
      const [change, wait] = suggestions;
      expect(change).toEqual({
        text: expect.stringContaining("requests"),
        updateKey: { keyId, ratelimits: [{ name: "requests", limit: 3, duration: MONTH, autoApply: true }, other] },
      });
      expect(wait).toEqual({ text: expect.any(String), at: expect.any(Number) });
      expect(suggestions).toHaveLength(2);
      await run.data("keys.updateKey", change?.updateKey);
      expect(await run.verify(key)).toMatchObject({ code: "VALID" });
    });

    test("[management §8] limits of the request or the identity are not for the key to change, and a cost above the limit never passes", async () => {
      const externalId = run.unique("user");
      await run.data("identities.createIdentity", { externalId, ratelimits: [{ name: "shared", limit: 1, duration: MONTH }] });
      const { keyId } = await run.createKey({ externalId, ratelimits: [{ name: "own", limit: 5, duration: MONTH }] });
      for (const limit of [
        { name: "shared", cost: 2 },
        { name: "inline", limit: 1, duration: 1_000, cost: 2 },
        { name: "own", limit: 1, cost: 2 },
      ]) {
        expect(await explain({ keyId, ratelimits: [limit] })).toMatchObject({ code: "RATE_LIMITED", suggestions: [] });
      }
      expect((await explain({ keyId, ratelimits: [{ name: "own", cost: 6 }] })).suggestions).toMatchObject([
        { updateKey: { ratelimits: [{ name: "own", limit: 6 }] } },
      ]);
    });

    test("[management §8] an unknown limit is 412 exactly when verifyKey answers that; after a failed step it is a failed step", async () => {
      const { keyId, key } = await run.createKey();
      const ratelimits = [{ name: "unknown_limit" }];
      const refused = expectError(await run.call("keys.explain", { keyId, ratelimits }), 412, "unkey/application/precondition_failed");
      expect(refused).toEqual(expectError(await run.call("keys.verifyKey", { key, ratelimits }), 412, "precondition_failed"));
      await run.data("keys.updateKey", { keyId, enabled: false });
      const explained = await explain({ keyId, ratelimits });
      expect(explained).toMatchObject({ code: "DISABLED", suggestions: [] });
      const detail = "Neither the key nor its identity has a rate limit called unknown_limit.";
      expect(stepOf(explained, "ratelimits")).toMatchObject({ outcome: "failed", detail });
      const several = await explain({ keyId, ratelimits: [{ name: "one" }, ...ratelimits, { name: "own", limit: 1, duration: 1_000 }] });
      expect(stepOf(several, "ratelimits").detail).toBe("Neither the key nor its identity has a rate limit called one, unknown_limit.");
    });
  });
});
