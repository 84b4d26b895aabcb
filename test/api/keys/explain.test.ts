// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { chunks } from "../../../src/platform/util/chunks.ts";
import { expectError } from "../../support/api.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";
import { countersOf, type ExplainedStep, type Explanation, explainerOf, stepOf } from "../../support/explanations.ts";
import { everythingIn } from "../../support/written.ts";

const MONTH = 2_592_000_000;
const DAY = 86_400_000;
const FAR = 4_000_000_000_000;

const CHECKS = ["api", "enabled", "expiry", "ipAllowlist", "permissions", "ratelimits", "credits"];

const allowOnly = (run: Run, apiId: string, ...entries: string[]): Promise<unknown> =>
  run.data("apis.updateApi", { apiId, ipAllowlist: entries });

everywhere((run) => {
  const explain = explainerOf(run);

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

  test("[management §2] every failing check is reported, even after the first; the code is that of the first", async () => {
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
    const expiry = async (at: number): Promise<ExplainedStep> => stepOf(await explain({ keyId, at }), "expiry");
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

    test("[management §2] at most a hundred grants of a term are listed, and the detail names the terms with more", async () => {
      const slug = `${run.unique("docs")}.read`;
      const roles: string[] = [];
      for (const some of chunks(Array<string>(100).fill(slug), 20)) roles.push(...(await Promise.all(some.map((each) => roleWith(each)))));
      const { keyId } = await run.createKey({ roles });
      const step = async () => stepOf(await explain({ keyId, permissions: `${slug} OR absent` }), "permissions");
      const grantsIn = ({ facts }: ExplainedStep) =>
        (facts.permissions as { grantedBy?: unknown[] }[]).map(({ grantedBy }) => grantedBy?.length);
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

  test("[management §2] explanations take nothing from concurrent verifications", async () => {
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
});
