import { describe, expect, test } from "vitest";
import { chunks } from "../../src/domain/chunks.ts";
import { expectError } from "../support/api.ts";
import { everywhere, type Run } from "../support/everywhere.ts";
import { createTestClock } from "../support/testClock.ts";
import { everythingIn } from "../support/written.ts";

const MONTH = 2_592_000_000;
const DAY = 86_400_000;
const FAR = 4_000_000_000_000;

interface Step {
  readonly check: string;
  readonly outcome: string;
  readonly detail: string;
  readonly facts: Record<string, unknown>;
}

interface Explanation {
  readonly code: string;
  readonly valid: boolean;
  readonly at: number;
  readonly steps: readonly Step[];
  readonly suggestions: readonly { text: string; updateKey?: object; updateApi?: { apiId: string; ipAllowlist: string[] }; at?: number }[];
}

const CHECKS = ["api", "enabled", "expiry", "ipAllowlist", "permissions", "ratelimits", "credits"];

const stepOf = ({ steps }: Explanation, check: string): Step => steps.find((step) => step.check === check) ?? expect.unreachable();

/** The counters of a key: those of others change by themselves when budget goes back. */
const countersOf = async ({ api }: Run, keyId: string): Promise<{ readonly current: number }[]> =>
  (await api.store.collection("counters").find({}).toArray()).filter(({ _id }) => _id.includes(keyId));

const allowOnly = (run: Run, apiId: string, ...entries: string[]): Promise<unknown> =>
  run.data("apis.updateApi", { apiId, ipAllowlist: entries });

/** The one limit of a key, as a node explains it. */
const onlyLimit = (explanation: unknown): { readonly current: number; readonly remaining: number } => {
  const { facts } = stepOf(explanation as Explanation, "ratelimits");
  return (facts.ratelimits as { current: number; remaining: number }[])[0] ?? expect.unreachable();
};

// No budget goes back by itself while the clock stands still.
describe("with a clock that stands still", () => {
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
  const explain = async (body: object): Promise<Explanation> => (await run.data("keys.explain", body)) as unknown as Explanation;

  const roleWith = async (...permissions: string[]): Promise<string> => {
    const name = run.unique("role");
    await run.data("permissions.createRole", { name, permissions });
    return name;
  };

  test("[management §2] a key on which nothing is set passes: one step for each check, in the order of decision", async () => {
    const { keyId, key, apiId } = await run.createKey();
    const byId = await explain({ keyId });
    expect(byId).toEqual({
      keyId,
      apiId,
      at: expect.any(Number),
      code: "VALID",
      valid: true,
      steps: CHECKS.map((check) => ({
        check,
        outcome: check === "api" || check === "enabled" ? "passed" : "skipped",
        detail: expect.stringMatching(/^[A-Z].*\.$/),
        facts: {},
      })),
      suggestions: [],
    });
    expect(await explain({ key })).toEqual({ ...byId, at: expect.any(Number) });
  });

  test("[management §2] every check that fails is told, also after the first; the code is that of the first", async () => {
    const { keyId, key, apiId } = await run.createKey({
      enabled: false,
      expires: 1_000,
      credits: { remaining: 1 },
      ratelimits: [{ name: "requests", limit: 1, duration: MONTH, autoApply: true }],
    });
    await allowOnly(run, apiId, "192.0.2.0/24");
    const asked = { permissions: "not.held", credits: { cost: 2 }, ratelimits: [{ name: "requests", cost: 2 }] };
    const explained = await explain({ keyId, ...asked });
    expect(explained).toMatchObject({ code: "DISABLED", valid: false, suggestions: [] });
    expect(explained.steps.map(({ outcome }) => outcome)).toEqual(["passed", ...Array<string>(6).fill("failed")]);
    expect(await run.verify(key, asked)).toMatchObject({ code: "DISABLED" });
  });

  test("[management §2] expiry: expires and what remains of it; the last moment still passes", async () => {
    const { keyId } = await run.createKey({ expires: FAR });
    const expiry = async (at: number): Promise<Step> => stepOf(await explain({ keyId, at }), "expiry");
    expect(await expiry(FAR - 5)).toMatchObject({ outcome: "passed", facts: { expires: FAR, remainingMs: 5 } });
    expect(await expiry(FAR)).toMatchObject({ outcome: "passed", facts: { expires: FAR, remainingMs: 0 } });
    expect(await expiry(FAR + 1)).toMatchObject({ outcome: "failed", facts: { expires: FAR, remainingMs: -1 } });
    expect((await explain({ keyId, at: FAR + 1 })).code).toBe("EXPIRED");
  });

  describe("permissions", () => {
    test("[management §2] each term of the query is there with everything that grants it, the wildcard named, or missing", async () => {
      const [a, b] = [run.unique("docs"), run.unique("files")];
      const role = await roleWith(`${a}.*`, `${b}.write`);
      const { keyId } = await run.createKey({ permissions: [`${a}.read`], roles: [role] });
      const query = `(${a}.read AND ${b}.write) OR ${b}.read or ${a}.read`;
      const { code, steps } = await explain({ keyId, permissions: query });
      expect(code).toBe("VALID");
      expect(steps.find(({ check }) => check === "permissions")).toMatchObject({
        outcome: "passed",
        facts: {
          permissions: [
            {
              permission: `${a}.read`,
              grantedBy: [
                { slug: `${a}.read`, via: "key" },
                { slug: `${a}.*`, via: "role", role },
              ],
            },
            { permission: `${b}.write`, grantedBy: [{ slug: `${b}.write`, via: "role", role }] },
            { permission: `${b}.read`, missing: true },
          ],
        },
      });
    });

    test("[management §2] of what grants a term a hundred are told, and the detail says of which there are more", async () => {
      const slug = `${run.unique("docs")}.read`;
      const roles: string[] = [];
      for (const some of chunks(Array<string>(100).fill(slug), 20)) roles.push(...(await Promise.all(some.map((each) => roleWith(each)))));
      const { keyId } = await run.createKey({ roles });
      const step = async () => stepOf(await explain({ keyId, permissions: `${slug} OR absent` }), "permissions");
      const grantsIn = ({ facts }: Step) => (facts.permissions as { grantedBy?: unknown[] }[]).map(({ grantedBy }) => grantedBy?.length);
      const whole = await step();
      expect([grantsIn(whole), whole.detail]).toEqual([[100, undefined], "The key holds the permissions that are asked for."]);
      await run.data("keys.addPermissions", { keyId, permissions: [slug] });
      const cut = await step();
      expect(grantsIn(cut)).toEqual([100, undefined]);
      expect((cut.facts.permissions as { grantedBy: unknown[] }[])[0]?.grantedBy[0]).toEqual({ slug, via: "key" });
      expect(cut.detail).toBe(
        `The key holds the permissions that are asked for; only the first 100 grants each are shown of ${slug} (101).`,
      );
      const failed = stepOf(await explain({ keyId, permissions: `${slug} AND absent` }), "permissions");
      expect(failed.detail).toBe(
        `The key does not hold what is asked for: it lacks absent; only the first 100 grants each are shown of ${slug} (101).`,
      );
    });

    test("[management §8] the suggestion is a complete body that keeps what the key has, and makes it pass", async () => {
      const slug = run.unique("docs");
      const role = await roleWith(`${slug}.inherited`);
      const { keyId, key } = await run.createKey({ permissions: [`${slug}.one`], roles: [role] });
      const permissions = `${slug}.inherited AND ((${slug}.b AND ${slug}.c) OR ${slug}.d)`;
      const { code, suggestions } = await explain({ keyId, permissions });
      expect(code).toBe("INSUFFICIENT_PERMISSIONS");
      expect(suggestions).toEqual([
        { text: expect.stringContaining(`${slug}.d`), updateKey: { keyId, permissions: [`${slug}.one`, `${slug}.d`] } },
      ]);
      await run.data("keys.updateKey", suggestions[0]?.updateKey);
      expect(await run.verify(key, { permissions })).toMatchObject({ code: "VALID", roles: [role] });
    });

    test("[management §8] no suggestion where the permission cannot be granted: another letter case has the slug, or it is none", async () => {
      const slug = run.unique("docs.read");
      await run.data("permissions.createPermission", { name: "Read", slug });
      const { keyId } = await run.createKey();
      for (const permissions of [slug.toUpperCase(), "a/b", "ab", `x${"y".repeat(100)}`, "perm_abc", `${slug}.z AND ${slug}.Z`]) {
        expect(await explain({ keyId, permissions }), permissions).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS", suggestions: [] });
      }
      for (const permissions of [slug, "abc", `x${"y".repeat(99)}`])
        expect((await explain({ keyId, permissions })).suggestions).toHaveLength(1);
    });
  });

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

    test("[management §8] what the request or the identity limits is not the key's to change, and a cost above the limit never passes", async () => {
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

  describe("credits", () => {
    test.each([
      [0, 5, "VALID"],
      [4, 5, "VALID"],
      [5, 5, "VALID"],
      [6, 5, "USAGE_EXCEEDED"],
      [0, 0, "VALID"],
      [1, 0, "USAGE_EXCEEDED"],
    ])("[management §2] cost %i of a balance of %i: %s", async (cost, remaining, code) => {
      const { keyId, key } = await run.createKey({ credits: { remaining } });
      const explained = await explain({ keyId, credits: { cost } });
      expect(explained.code).toBe(code);
      expect(stepOf(explained, "credits")).toMatchObject({
        outcome: code === "VALID" ? "passed" : "failed",
        facts: { balance: remaining, cost, refillsDue: 0 },
      });
      expect(stepOf(explained, "credits").facts).not.toHaveProperty("nextRefill");
      if (code !== "VALID") {
        expect(explained.suggestions).toEqual([{ text: expect.any(String), updateKey: { keyId, credits: { remaining: cost } } }]);
        await run.data("keys.updateKey", explained.suggestions[0]?.updateKey);
      }
      expect(await run.verify(key, { credits: { cost } })).toMatchObject({ code: "VALID" });
    });

    test("[management §2] refills that are due at the time asked about are in the balance, the next one is named", async () => {
      const { keyId } = await run.createKey({ credits: { remaining: 1, refill: { interval: "daily", amount: 10 } } });
      const { at: now } = await explain({ keyId });
      const midnight = (days: number): number => (Math.floor(now / DAY) + days) * DAY;
      const facts = async (at: number): Promise<unknown> => stepOf(await explain({ keyId, at }), "credits").facts;
      expect(await facts(midnight(1) - 1)).toEqual({ balance: 1, cost: 1, refillsDue: 0, nextRefill: midnight(1) });
      expect(await facts(midnight(1))).toEqual({ balance: 11, cost: 1, refillsDue: 1, nextRefill: midnight(2) });
      expect(await facts(midnight(3))).toEqual({ balance: 31, cost: 1, refillsDue: 3, nextRefill: midnight(4) });
      expect(await facts(0)).toEqual({ balance: 1, cost: 1, refillsDue: 0, nextRefill: midnight(1) });
      const { code, suggestions } = await explain({ keyId, credits: { cost: 12 } });
      expect(code).toBe("USAGE_EXCEEDED");
      expect(suggestions).toEqual([
        { text: expect.any(String), updateKey: { keyId, credits: { remaining: 12 } } },
        { text: expect.any(String), at: midnight(2) },
      ]);
      expect(await explain({ keyId, credits: { cost: 12 }, at: midnight(2) })).toMatchObject({ code: "VALID" });
      expect(await explain({ keyId, credits: { cost: 12 }, at: midnight(2) - 1 })).toMatchObject({ code: "USAGE_EXCEEDED" });
    });

    test("[management §8] there is no time at which it passes again when the key has expired by then", async () => {
      const { keyId } = await run.createKey({ credits: { remaining: 0, refill: { interval: "daily", amount: 1 } } });
      const { at: now } = await explain({ keyId });
      const midnight = (Math.floor(now / DAY) + 1) * DAY;
      await run.data("keys.updateKey", { keyId, expires: midnight });
      expect((await explain({ keyId })).suggestions.map(({ at }) => at)).toEqual([undefined, midnight]);
      await run.data("keys.updateKey", { keyId, expires: midnight - 1 });
      expect((await explain({ keyId })).suggestions.map(({ at }) => at)).toEqual([undefined]);
    });
  });

  test("[management §2] several changes that one call can make are one suggestion", async () => {
    const { keyId, key } = await run.createKey({ enabled: false, expires: 1, credits: { remaining: 0 }, name: "kept", meta: { a: 1 } });
    const { code, suggestions } = await explain({ keyId });
    expect(code).toBe("DISABLED");
    expect(suggestions).toEqual([
      { text: expect.any(String), updateKey: { keyId, enabled: true, expires: null, credits: { remaining: 1 } } },
    ]);
    await run.data("keys.updateKey", suggestions[0]?.updateKey);
    expect(await run.verify(key)).toMatchObject({ code: "VALID", name: "kept", meta: { a: 1 } });
  });

  describe("the IP allow list", () => {
    test("[management §2] the entry that matched is named; remoteIp is looked for, or else the caller's own address", async () => {
      const { keyId, apiId } = await run.createKey();
      await allowOnly(run, apiId, "192.0.2.7/32", "127.0.0.0/8", "192.0.2.0/24", "2001:db8::/32");
      for (const [remoteIp, shown, matched] of [
        [undefined, "127.0.0.1", "127.0.0.0/8"],
        ["192.0.2.7", "192.0.2.7", "192.0.2.7/32"],
        ["192.0.2.8", "192.0.2.8", "192.0.2.0/24"],
        ["::ffff:192.0.2.8", "192.0.2.8", "192.0.2.0/24"],
        ["2001:db8::1", "2001:db8::1", "2001:db8::/32"],
        ["203.0.113.1", "203.0.113.1", undefined],
      ]) {
        const explained = await explain({ keyId, ...(remoteIp === undefined ? {} : { remoteIp }) });
        expect(explained.code).toBe(matched === undefined ? "FORBIDDEN" : "VALID");
        const { outcome, facts } = stepOf(explained, "ipAllowlist");
        expect(outcome).toBe(matched === undefined ? "failed" : "passed");
        expect(facts).toEqual({ remoteIp: shown, ...(matched === undefined ? {} : { matched }) });
      }
    });

    test("[management §8] the suggestion is a complete body of updateApi, and makes it pass", async () => {
      const { keyId, apiId } = await run.createKey();
      await allowOnly(run, apiId, "192.0.2.0/24");
      const asked = { keyId, remoteIp: "2001:DB8::1" };
      const { suggestions } = await explain(asked);
      const ipAllowlist = ["192.0.2.0/24", "2001:db8::1/128"];
      expect(suggestions).toEqual([{ text: expect.any(String), updateApi: { apiId, ipAllowlist } }]);
      await allowOnly(run, apiId, ...(suggestions[0]?.updateApi?.ipAllowlist ?? []));
      expect(await explain(asked)).toMatchObject({ code: "VALID" });
    });
  });

  test("[management §2] nothing is spent, recorded, counted, marked as used or written", async () => {
    const { keyId, key } = await run.createKey({
      credits: { remaining: 3, refill: { interval: "daily", amount: 1 } },
      ratelimits: [{ name: "requests", limit: 30, duration: MONTH, autoApply: true }],
    });
    const before = await everythingIn(run.api.store);
    for (let i = 0; i < 5; i++) {
      await explain({ keyId, ratelimits: [{ name: "inline", limit: 5, duration: 60_000 }] });
      await explain({ key, at: FAR, permissions: "not.held" });
    }
    expect(await everythingIn(run.api.store)).toEqual(before);
    expect(await countersOf(run, keyId)).toEqual([]);
    expect(await run.getKey(keyId)).not.toHaveProperty("lastUsedAt");
    expect(await run.verify(key)).toMatchObject({ credits: 2, ratelimits: [{ remaining: 29 }] });
  });

  test("[management §2] questions beside verifications take nothing from them", async () => {
    const { keyId, key } = await run.createKey({
      credits: { remaining: 100 },
      ratelimits: [{ name: "requests", limit: 10, duration: MONTH, autoApply: true }],
    });
    const verified: Promise<Record<string, unknown>>[] = [];
    const explained: Promise<Explanation>[] = [];
    for (let i = 0; i < 15; i++) {
      explained.push(explain({ keyId }), explain({ key }));
      verified.push(run.verify(key));
    }
    for (const { code } of await Promise.all(explained)) expect(["VALID", "RATE_LIMITED"]).toContain(code);
    const codes = (await Promise.all(verified)).map(({ code }) => code);
    expect(codes.filter((code) => code === "VALID")).toHaveLength(10);
    const after = await explain({ keyId });
    expect(after.code).toBe("RATE_LIMITED");
    expect(stepOf(after, "credits").facts).toMatchObject({ balance: 90 });
  });

  test("[management §2] names of any script are shown as they are", async () => {
    const name = "größe 限制 😀";
    const { keyId } = await run.createKey({ name: "ключ", ratelimits: [{ name, limit: 1, duration: MONTH, autoApply: true }] });
    const { steps, suggestions } = await explain({ keyId, ratelimits: [{ name, cost: 2 }] });
    const { detail, facts } = steps.find(({ check }) => check === "ratelimits") ?? expect.unreachable();
    expect(detail).toContain(name);
    expect(facts).toMatchObject({ ratelimits: [{ name }] });
    expect(suggestions).toMatchObject([{ updateKey: { ratelimits: [{ name, limit: 2 }] } }]);
    for (const key of ["😀".repeat(512), "\u0000"]) expectError(await run.call("keys.explain", { key }), 404, "unkey/data/key_not_found");
  });

  describe("the key", () => {
    test("[management §8] unknown, deleted, of a deleted API, a root key: 404 key_not_found, by id and by secret", async () => {
      const [deleted, orphan] = [await run.createKey(), await run.createKey()];
      await run.data("keys.deleteKey", { keyId: deleted.keyId });
      await run.data("apis.deleteApi", { apiId: orphan.apiId });
      for (const body of [
        ...[{ keyId: "key_unknown" }, { keyId: deleted.keyId }, { keyId: orphan.keyId }],
        ...[{ key: "unknown" }, { key: deleted.key }, { key: orphan.key }, { key: run.api.rootKey }],
      ]) {
        const { detail } = expectError(await run.call("keys.explain", body), 404, "unkey/data/key_not_found");
        if ("key" in body) expect(detail).not.toContain(body.key);
      }
    });

    test("[management §8] by keyId 404, then 403 that names what is missing of verify_key and read_key", async () => {
      const { keyId, apiId } = await run.createKey();
      for (const [held, missing] of [
        [[], ["verify_key", "read_key"]],
        [["api.*.verify_key"], ["read_key"]],
        [[`api.${apiId}.read_key`], ["verify_key"]],
        [
          ["api.api_other.verify_key", "api.api_other.read_key"],
          ["verify_key", "read_key"],
        ],
      ] as const) {
        const rootKey = await run.api.createRootKey({ permissions: held });
        const { detail } = expectError(await run.call("keys.explain", { keyId }, rootKey), 403, "insufficient_permissions");
        for (const action of ["verify_key", "read_key"]) {
          expect(detail.includes(`api.${apiId}.${action} or api.*.${action}`)).toBe((missing as readonly string[]).includes(action));
        }
        expectError(await run.call("keys.explain", { keyId: "key_unknown" }, rootKey), 404, "unkey/data/key_not_found");
      }
      const enough = await run.api.createRootKey({ permissions: [`api.${apiId}.verify_key`, `api.${apiId}.read_key`] });
      expect(await run.data("keys.explain", { keyId }, enough)).toMatchObject({ keyId });
    });

    test("[management §8] by key: 403 before the look-up without either action, 404 as for an unknown one without the API's", async () => {
      const { key, keyId, apiId } = await run.createKey();
      for (const [held, missing] of [
        [[], ["api.*.verify_key", "api.*.read_key"]],
        [["api.*.verify_key"], ["api.*.read_key"]],
        [[`api.${apiId}.read_key`], ["api.*.verify_key"]],
      ] as const) {
        const rootKey = await run.api.createRootKey({ permissions: held });
        const [known, unknown] = [await run.call("keys.explain", { key }, rootKey), await run.call("keys.explain", { key: "x" }, rootKey)];
        const error = expectError(known, 403, "insufficient_permissions");
        for (const permission of missing) expect(error.detail).toContain(permission);
        expect(expectError(unknown, 403, "insufficient_permissions")).toEqual(error);
      }
      for (const held of [
        [`api.${apiId}.verify_key`, "api.api_other.read_key"],
        ["api.api_other.verify_key", "api.*.read_key"],
      ]) {
        const rootKey = await run.api.createRootKey({ permissions: held });
        const masked = expectError(await run.call("keys.explain", { key }, rootKey), 404, "unkey/data/key_not_found");
        expect(masked).toEqual(expectError(await run.call("keys.explain", { key: "unknown" }, rootKey), 404, "key_not_found"));
      }
      const enough = await run.api.createRootKey({ permissions: [`api.${apiId}.verify_key`, "api.*.read_key"] });
      expect(await run.data("keys.explain", { key }, enough)).toMatchObject({ keyId });
    });

    test("[management §8] a key of another system that nobody has verified yet is not found by its secret", async () => {
      const { key, keyId } = await run.createKey();
      await run.api.store.collection("keys").updateOne({ _id: keyId }, { $set: { pendingMigrationId: "mig_1" } });
      expectError(await run.call("keys.explain", { key }), 404, "unkey/data/key_not_found");
      expect(await explain({ keyId })).toMatchObject({ code: "VALID" });
    });
  });

  describe("the request", () => {
    const refused: readonly (readonly [string, object, readonly string[]])[] = [
      ["neither keyId nor key", {}, ["body.keyId"]],
      ["both keyId and key", { keyId: "key_1", key: "x" }, ["body.keyId"]],
      ["a keyId of 2 characters", { keyId: "ab" }, ["body.keyId"]],
      ["a key of 513 characters", { key: "k".repeat(513) }, ["body.key"]],
      ["an empty query", { keyId: "key_1", permissions: "" }, ["body.permissions"]],
      ["a query of 1001 characters", { keyId: "key_1", permissions: "a".repeat(1001) }, ["body.permissions"]],
      ["credits without cost", { keyId: "key_1", credits: {} }, ["body.credits.cost"]],
      ["a limit of 0", { keyId: "key_1", ratelimits: [{ name: "abc", limit: 0 }] }, ["body.ratelimits[0].limit"]],
      ["a remoteIp that is no address", { keyId: "key_1", remoteIp: "localhost" }, ["body.remoteIp"]],
      ["a network as remoteIp", { keyId: "key_1", remoteIp: "192.0.2.0/24" }, ["body.remoteIp"]],
      ["two mistakes", { remoteIp: "1.2.3", at: 1 }, ["body.keyId", "body.remoteIp"]],
    ];
    test.each(refused)("[management §8] %s is 400", async (_, body, locations) => {
      const error = expectError(await run.call("keys.explain", body), 400, "unkey/application/invalid_input");
      expect(error.errors?.map(({ location }) => location).sort()).toEqual(locations);
    });

    test("[management §2] the bounds of the time are taken", async () => {
      const { keyId } = await run.createKey({ credits: { remaining: 0, refill: { interval: "monthly", amount: 1, refillDay: 31 } } });
      for (const at of [0, 4_102_444_800_000]) expect((await explain({ keyId, at })).at).toBe(at);
    });

    test("[management §2] a malformed query is 400, also for an unknown key", async () => {
      expectError(await run.call("keys.explain", { keyId: "key_unknown", permissions: "a AND" }), 400, "permissions_query_syntax_error");
    });

    if (run.edge !== "v2") return;
    test.each([
      ["a time before 0", { keyId: "key_1", at: -1 }, "body.at"],
      ["a time after 2099", { keyId: "key_1", at: 4_102_444_800_001 }, "body.at"],
      ["a cost above 10^12", { keyId: "key_1", credits: { cost: 1_000_000_000_001 } }, "body.credits.cost"],
      ["51 limits", { keyId: "key_1", ratelimits: Array.from({ length: 51 }, (_, i) => ({ name: `limit${i}` })) }, "body.ratelimits"],
    ])("[management §8] %s is 400", async (_, body, location) => {
      const error = expectError(await run.call("keys.explain", body), 400, "unkey/application/invalid_input");
      expect(error.errors?.map((violation) => violation.location)).toEqual([location]);
    });

    test("[management §2] other types, null and unknown fields are 400", async () => {
      for (const [place, value] of [
        ["keyId", 5],
        ["keyId", null],
        ["at", "1"],
        ["at", 1.5],
        ["at", null],
        ["remoteIp", null],
        ["remoteIp", 1],
        ["tags", []],
        ["migrationId", "mig_1"],
      ] as const) {
        const error = expectError(
          await run.call("keys.explain", { keyId: "key_1", [place]: value }),
          400,
          "unkey/application/invalid_input",
        );
        expect(error.errors?.map(({ location }) => location)).toEqual([`body.${place}`]);
      }
    });
  });
});
