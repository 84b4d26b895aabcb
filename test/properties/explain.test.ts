// @same-on-every-engine
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { sized } from "../support/sized.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

const DAY = 86_400_000;

/** Few, so that queries and grants meet. */
const slugs = ["docs.read", "docs.write", "docs.a.b", "files:read", "docs", "other.thing"];
const grants = [...slugs, "docs.*", "docs.a.*", "files:*", "d.c*"];
const addresses = ["192.0.2.1", "192.0.2.77", "2001:db8::7", "203.0.113.9"];
const networks = ["192.0.2.1/32", "192.0.2.0/24", "2001:db8::/32", "0.0.0.0/0", "::/0"];
const names = ["requests", "tokens", "calls"];
const durations = [1_000, 60_000, DAY];

const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });

const { query } = fc.letrec<{ query: string; both: string }>((tie) => ({
  query: fc.oneof({ maxDepth: 3 }, fc.constantFrom(...slugs, "docs.*", "a/b"), tie("both")),
  both: fc
    .tuple(tie("query"), fc.constantFrom("AND", "OR", "and", "Or"), tie("query"))
    .map(([left, operator, right]) => `(${left}) ${operator} ${right}`),
}));

const limit = fc.record({
  name: fc.constantFrom(...names),
  limit: fc.constantFrom(1, 2, 3, 25, 100),
  duration: fc.constantFrom(...durations),
  autoApply: fc.boolean(),
});
const limits = fc.uniqueArray(limit, { maxLength: 3, selector: ({ name }) => name });

const requestedLimit = fc.record(
  {
    name: fc.constantFrom(...names),
    cost: fc.constantFrom(0, 1, 2, 5, 30),
    limit: fc.constantFrom(1, 4, 40),
    duration: fc.constantFrom(...durations),
  },
  { requiredKeys: ["name"] },
);

const credits = fc.record(
  {
    remaining: fc.constantFrom(0, 1, 2, 5, 50),
    refill: fc.oneof(
      fc.record({ interval: fc.constant("daily"), amount: fc.constantFrom(1, 3) }),
      fc.record({ interval: fc.constant("monthly"), amount: fc.constantFrom(1, 3), refillDay: fc.constantFrom(1, 15, 31) }),
    ),
  },
  { requiredKeys: ["remaining"] },
);

const call = fc.record(
  {
    permissions: query.filter((text) => text.length <= 1_000),
    credits: fc.record({ cost: fc.constantFrom(0, 1, 2, 7) }),
    ratelimits: fc.array(requestedLimit, { maxLength: 3 }),
  },
  { requiredKeys: [] },
);

/** Times that pass between two calls: within windows, over their ends, over refills and over expiry. */
const pause = fc.oneof(fc.constantFrom(0, 0, 1, 400, 999, 1_000, 30_000, 60_000), fc.integer({ min: 0, max: 3 * DAY }));

const scenario = fc.record({
  enabled: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  expiresIn: maybe(fc.integer({ min: 0, max: 10 * DAY })),
  allowlist: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.subarray(networks)),
  permissions: fc.subarray(grants, { maxLength: 4 }),
  inherited: fc.subarray(grants, { maxLength: 3 }),
  keyLimits: limits,
  identityLimits: maybe(limits),
  credits: maybe(credits),
  calls: fc.array(fc.record({ pause, address: fc.constantFrom(...addresses), asked: call, byId: fc.boolean() }), {
    minLength: 1,
    maxLength: 8,
  }),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

const call0 = { pause: 0, address: "192.0.2.1", asked: {}, byId: true };
const plain: Scenario = {
  ...{ enabled: true, expiresIn: undefined, allowlist: [], permissions: [], inherited: [], keyLimits: [], identityLimits: undefined },
  ...{ credits: undefined, calls: [call0] },
};
/** One for each code, so that none is left to chance. */
const examples: readonly Scenario[] = [
  plain,
  { ...plain, enabled: false },
  { ...plain, expiresIn: 0, calls: [{ ...call0, pause: 1 }] },
  { ...plain, allowlist: ["2001:db8::/32"] },
  { ...plain, calls: [{ ...call0, asked: { permissions: "docs.read" } }] },
  { ...plain, keyLimits: [{ name: "requests", limit: 1, duration: DAY, autoApply: true }], calls: [call0, call0] },
  { ...plain, credits: { remaining: 1 }, calls: [call0, call0] },
];

interface Suggestion {
  readonly updateKey?: object;
  readonly at?: number;
}

describe.each(engines)("on $name", { timeout: 300_000 }, (engine) => {
  const clock = createTestClock(Date.parse("2031-01-15T12:00:00Z"));
  let api: Api;
  let made = 0;
  beforeAll(async () => {
    api = await startApi(engine, { clock, env: { TRUSTED_PROXIES: "127.0.0.0/8" } });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const send = (procedure: string, body: object, address = "127.0.0.1") =>
    request(api.url, procedure, { rootKey: api.rootKey, body, headers: { "x-forwarded-for": address } });
  const data = async (procedure: string, body: object): Promise<Record<string, unknown>> => dataOf(await send(procedure, body));

  const createKey = async (planned: Scenario): Promise<{ readonly keyId: string; readonly key: string }> => {
    const unique = `n${++made}`;
    const { apiId } = await data("apis.createApi", { name: `api ${unique}` });
    if (planned.allowlist.length > 0) await data("apis.updateApi", { apiId, ipAllowlist: planned.allowlist });
    await data("permissions.createRole", { name: unique, permissions: planned.inherited });
    const { identityLimits, expiresIn } = planned;
    if (identityLimits) await data("identities.createIdentity", { externalId: unique, ratelimits: identityLimits });
    const { keyId, key } = await data("keys.createKey", {
      apiId,
      enabled: planned.enabled,
      permissions: planned.permissions,
      roles: [unique],
      ratelimits: planned.keyLimits,
      ...(identityLimits ? { externalId: unique } : {}),
      ...(expiresIn === undefined ? {} : { expires: clock.now() + expiresIn }),
      ...(planned.credits ? { credits: planned.credits } : {}),
    });
    return { keyId: keyId as string, key: key as string };
  };

  /** The code of an answer, or its error. */
  const codeIn = ({ status, body }: Awaited<ReturnType<typeof send>>): unknown =>
    status === 200 ? (body.data as { code: string }).code : [status, body.error?.detail];

  const FAILS: Readonly<Record<string, string>> = {
    ...{ enabled: "DISABLED", expiry: "EXPIRED", ipAllowlist: "FORBIDDEN", permissions: "INSUFFICIENT_PERMISSIONS" },
    ...{ ratelimits: "RATE_LIMITED", credits: "USAGE_EXCEEDED" },
  };
  const firstFailure = (steps: readonly { check: string; outcome: string }[]): string =>
    FAILS[steps.find(({ outcome }) => outcome === "failed")?.check ?? ""] ?? "VALID";

  const numRuns = engine.name === "embedded" ? sized(60, 600) : sized(12, 250);

  test("[management §2] explain, asked first, and verifyKey say the same code on random keys, queries and times", async () => {
    const seen = new Set<unknown>();
    const check = async (planned: Scenario): Promise<void> => {
      const { keyId, key } = await createKey(planned);
      for (const { pause: wait, address, asked, byId } of planned.calls) {
        clock.advance(wait);
        const explained = await send("keys.explain", { ...(byId ? { keyId } : { key }), ...asked, remoteIp: address });
        const verified = await send("keys.verifyKey", { key, ...asked }, address);
        expect(codeIn(explained)).toEqual(codeIn(verified));
        if (explained.status !== 200) continue;
        const { code, steps } = explained.body.data as { code: string; steps: { check: string; outcome: string }[] };
        expect(firstFailure(steps)).toBe(code);
        seen.add(code);
      }
    };
    await fc.assert(fc.asyncProperty(scenario, check), { numRuns, examples: examples.map((each) => [each]) });
    // A code that never occurs proves nothing.
    expect([...seen].sort()).toEqual([...Object.values(FAILS), "VALID"].sort());
  });

  test("[management §2] explain's answer for another time is verifyKey's answer at that time, if no limit was used", async () => {
    const check = async (planned: Scenario): Promise<void> => {
      const { keyId, key } = await createKey(planned);
      const [first] = planned.calls;
      const { address, asked } = first ?? expect.unreachable();
      const at = clock.now() + planned.calls.reduce((sum, { pause: wait }) => sum + wait, 0);
      const explained = await send("keys.explain", { keyId, at, ...asked, remoteIp: address });
      clock.advance(at - clock.now());
      expect(codeIn(explained)).toEqual(codeIn(await send("keys.verifyKey", { key, ...asked }, address)));
    };
    await fc.assert(fc.asyncProperty(scenario, check), { numRuns });
  });

  test("[management §8] each suggestion alone makes the key pass, and no earlier time than the one that is named does", async () => {
    let tried = 0;
    const check = async (planned: Scenario, choice: number): Promise<void> => {
      const { keyId, key } = await createKey(planned);
      for (const { pause: wait, address, asked } of planned.calls) {
        clock.advance(wait);
        const body = { keyId, ...asked, remoteIp: address };
        const explained = await send("keys.explain", body);
        const suggestions = explained.status === 200 ? (explained.body.data as { suggestions: Suggestion[] }).suggestions : [];
        const { updateKey, at } = suggestions[choice % Math.max(1, suggestions.length)] ?? {};
        if (updateKey) await data("keys.updateKey", updateKey);
        if (at !== undefined) {
          clock.advance(at - 1 - clock.now());
          expect(codeIn(await send("keys.explain", body))).not.toBe("VALID");
          clock.advance(1);
        }
        const verified = codeIn(await send("keys.verifyKey", { key, ...asked }, address));
        if (!updateKey && at === undefined) continue;
        expect(verified).toBe("VALID");
        tried++;
      }
    };
    await fc.assert(fc.asyncProperty(scenario, fc.nat(1), check), { numRuns, examples: examples.map((each) => [each, 0]) });
    expect(tried).toBeGreaterThan(3);
  });
});
