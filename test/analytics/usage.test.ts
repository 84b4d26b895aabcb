import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UsageQuestion } from "../../src/analytics/usage/question.ts";
import { type Api, dataOf, expectError, startApi } from "../support/api.ts";
import type { Answer } from "../support/edges.ts";
import { request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";
import { openAnalytics, type Place, seed, ways } from "./places.ts";

const [engine] = engines;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Noon, so that a few hours before lie in the same day. */
const today = Math.floor(Date.now() / DAY) * DAY - DAY + 12 * HOUR;
const odd = "it's \\ \"odd\"\n\u0000 é😀 `x` ') OR 1=1 --";

const verifications = [
  {
    time: today,
    apiId: "api_a",
    keyId: "key_1",
    tags: ["x", "y", "x"],
    spentCredits: 2,
    latency: 1,
    identityId: "id_1",
    externalId: "alice",
  },
  { time: today + 1, apiId: "api_a", keyId: "key_1", tags: ["x"], spentCredits: 3, latency: 2, identityId: "id_1", externalId: "alice" },
  { time: today + MINUTE, apiId: "api_a", keyId: "key_2", outcome: "RATE_LIMITED", latency: 3 },
  { time: today + 2 * HOUR, apiId: "api_b", keyId: "key_3", outcome: "DISABLED", latency: 4 },
  { time: today + 2 * HOUR + MINUTE - 1, apiId: "api_b", keyId: odd, tags: [odd], latency: 5 },
  { time: today - 31 * DAY, apiId: "api_a", keyId: "key_old" },
];
/** More groups than a request may ask for. */
const many = Array.from({ length: 1_100 }, (_, i) => ({
  time: today - DAY + (i < 1_000 ? 1 : 0),
  namespaceId: "rlns_m",
  identifier: `u${i}`,
}));
const ratelimits = [
  ...many,
  { time: today, namespaceId: "rlns_a", identifier: odd, passed: true, tokens: 2 },
  { time: today, namespaceId: "rlns_a", identifier: odd, passed: false, tokens: 5 },
  { time: today + HOUR, namespaceId: "rlns_b", identifier: "user 2", passed: true, tokens: 0 },
];
const range = { start: today, end: today + 3 * HOUR };

describe.each(ways)("on $name", (way) => {
  let place: Place;
  let api: Api;
  const clock = createTestClock(today + DAY);
  beforeAll(async () => {
    if (!engine) expect.unreachable();
    place = await way.open();
    await seed(place, { verifications, ratelimits });
    api = await startApi(engine, { env: { ...place.env, ANALYTICS_QUERIES_PER_HOUR: "3" }, clock });
  });
  afterAll(async () => {
    await api.close();
    await engine?.close();
    await place.close();
  });

  const ask = (body: object, rootKey = api.rootKey): Promise<Answer> =>
    request(api.url, "analytics.getUsage", { rootKey, body: { kind: "verifications", granularity: "total", ...range, ...body } });
  const rows = async (body: object, rootKey?: string): Promise<Record<string, unknown>[]> =>
    dataOf(await ask(body, rootKey)) as unknown as Record<string, unknown>[];
  const limits = (body: object, rootKey?: string) => rows({ kind: "ratelimits", ...body }, rootKey);
  const counts = async (body: object, rootKey?: string): Promise<Record<string, unknown>> => {
    const { groupBy } = body as { groupBy: string[] };
    const found = await rows(body, rootKey);
    return Object.fromEntries(found.map((row) => [groupBy.map((name) => row[name]).join("|"), row.count]));
  };
  /** Places of what is wrong with a request. */
  const wrong = async (body: object): Promise<string[]> =>
    (expectError(await ask(body), 400, "application/invalid_input").errors ?? []).map(({ location }) => location);

  describe("[management §6] getUsage", () => {
    test("counts events and what they spent, on every edge alike", async () => {
      const body = { kind: "verifications", granularity: "total", ...range };
      for (const edge of api.edges) {
        const answer = dataOf(await edge.call("analytics.getUsage", body, api.rootKey));
        expect(answer).toEqual([{ count: 5, spentCredits: 5, latencyP50: 3, latencyP95: 4.8, latencyP99: 4.96 }]);
      }
      expect(await limits({})).toEqual([{ count: 3, spentTokens: 2 }]);
    });

    test.each([
      ["outcome", { VALID: 3, RATE_LIMITED: 1, DISABLED: 1 }],
      ["apiId", { api_a: 3, api_b: 2 }],
      ["keyId", { key_1: 2, key_2: 1, key_3: 1, [odd]: 1 }],
      ["identityId", { id_1: 2, "": 3 }],
      ["externalId", { alice: 2, "": 3 }],
    ])("groups verifications by %s", async (name, want) => {
      expect(await counts({ groupBy: [name] })).toEqual(want);
    });

    test("groups rate limits by namespaceId, identifier and passed, which is boolean", async () => {
      expect(await limits({ groupBy: ["namespaceId", "identifier", "passed"], orderBy: "count" })).toEqual([
        { namespaceId: "rlns_a", identifier: odd, passed: false, count: 1, spentTokens: 0 },
        { namespaceId: "rlns_a", identifier: odd, passed: true, count: 1, spentTokens: 2 },
        { namespaceId: "rlns_b", identifier: "user 2", passed: true, count: 1, spentTokens: 0 },
      ]);
    });

    test("groups by several, the same one twice counts once", async () => {
      expect(await counts({ groupBy: ["apiId", "outcome", "apiId"] })).toEqual({
        ...{ "api_a|VALID|api_a": 2, "api_a|RATE_LIMITED|api_a": 1, "api_b|DISABLED|api_b": 1, "api_b|VALID|api_b": 1 },
      });
    });

    test("filters by every name, lists are alternatives, filters are joined by and", async () => {
      const count = async (filter: object, kind = "verifications") => (await rows({ kind, filter }))[0]?.count;
      expect(await count({ outcome: ["VALID", "DISABLED"] })).toBe(4);
      expect(await count({ outcome: ["VALID"], apiId: ["api_b"] })).toBe(1);
      expect(await count({ keyId: [odd, "nobody"] })).toBe(1);
      expect(await count({ identityId: ["id_1"] })).toBe(2);
      expect(await count({ externalId: ["alice", ""] })).toBe(5);
      expect(await count({ tag: [odd, "y"] })).toBe(2);
      expect(await count({ tag: [""] })).toBe(2);
      expect(await count({ namespaceId: ["rlns_a"] }, "ratelimits")).toBe(2);
      expect(await count({ identifier: [odd] }, "ratelimits")).toBe(2);
      expect(await count({ passed: [true] }, "ratelimits")).toBe(2);
      expect(await count({ passed: [false] }, "ratelimits")).toBe(1);
      expect(await count({ passed: [true, false] }, "ratelimits")).toBe(3);
    });

    test("an empty list of a filter lets nothing pass", async () => {
      for (const name of ["outcome", "apiId", "keyId", "identityId", "externalId", "tag"]) {
        expect([name, await rows({ filter: { [name]: [] } })]).toEqual([name, [{ count: 0, spentCredits: 0 }]]);
      }
      for (const name of ["namespaceId", "identifier", "passed"]) {
        expect([name, await limits({ filter: { [name]: [] } })]).toEqual([name, [{ count: 0, spentTokens: 0 }]]);
      }
    });

    test("a filter of what nobody has is 0, and no group", async () => {
      expect(await rows({ filter: { apiId: ["api_unknown"] } })).toEqual([{ count: 0, spentCredits: 0 }]);
      expect(await rows({ filter: { apiId: ["api_unknown"] }, groupBy: ["keyId"], granularity: "hour" })).toEqual([]);
    });

    test("intervals without events are there with 0, for each group", async () => {
      const hours = await rows({ granularity: "hour", groupBy: ["apiId"] });
      expect(hours.map(({ time, apiId, count }) => [time, apiId, count])).toEqual([
        ...[today, today + HOUR].flatMap((time) => [
          [time, "api_a", time === today ? 3 : 0],
          [time, "api_b", 0],
        ]),
        ...[
          [today + 2 * HOUR, "api_a", 0],
          [today + 2 * HOUR, "api_b", 2],
        ],
      ]);
      expect(hours[1]).toEqual({ time: today, apiId: "api_b", count: 0, spentCredits: 0 });
    });

    test("orders by time, or groups by their total", async () => {
      const order = async (orderBy: string) =>
        (await rows({ granularity: "hour", groupBy: ["outcome"], filter: { apiId: ["api_b", "api_a"] }, orderBy, limit: 1 })).map(
          ({ time, outcome, other, count }) => [(Number(time) - today) / HOUR, outcome ?? other, count],
        );
      expect(await order("time")).toEqual([
        ...[
          [0, "VALID", 2],
          [0, true, 1],
          [1, "VALID", 0],
        ],
        ...[
          [1, true, 0],
          [2, "VALID", 1],
          [2, true, 1],
        ],
      ]);
      expect(await order("count")).toEqual([
        ...[
          [0, "VALID", 2],
          [1, "VALID", 0],
          [2, "VALID", 1],
        ],
        ...[
          [0, true, 1],
          [1, true, 0],
          [2, true, 1],
        ],
      ]);
    });

    test("the limit keeps the groups with most events, the rest is one group other, with its sums and percentiles", async () => {
      const [first, rest, ...none] = await rows({ groupBy: ["keyId"], limit: 1, orderBy: "time" });
      expect([first, rest].sort((a, b) => Number(a?.other ?? 0) - Number(b?.other ?? 0))).toEqual([
        { keyId: "key_1", count: 2, spentCredits: 5, latencyP50: 1.5, latencyP95: 1.95, latencyP99: 1.99 },
        { other: true, count: 3, spentCredits: 0, latencyP50: 4, latencyP95: 4.9, latencyP99: 4.98 },
      ]);
      expect(none).toEqual([]);
      expect((await rows({ groupBy: ["keyId"], limit: 4 })).map(({ other }) => other)).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
      ]);
      expect(await rows({ groupBy: ["keyId"], limit: 3 })).toHaveLength(4);
    });

    test("a thousand groups and the rest are counted, and times intervals they are cells", async () => {
      const asked = { kind: "ratelimits", start: today - DAY, end: today - DAY + HOUR, groupBy: ["identifier"], limit: 1_000 };
      const found = await rows(asked);
      expect(found).toHaveLength(1_001);
      expect(found.filter(({ other }) => other)).toEqual([{ other: true, count: 100, spentTokens: 100 }]);
      expect(await rows({ ...asked, limit: 999, granularity: "hour", end: today - DAY + 10 * HOUR })).toHaveLength(10_000);
      const refusal = expectError(
        await ask({ ...asked, granularity: "hour", end: today - DAY + 10 * HOUR }),
        400,
        "application/invalid_input",
      );
      expect(refusal.detail).toContain("10010 rows");
      expect(refusal.detail).toContain("the granularity day fits");
    });

    test("any text of a filter is that text and no SQL, and half of a character is none", async () => {
      expect(await wrong({ filter: { tag: ["\ud800"] } })).toEqual(["body.filter.tag[0]"]);
      for (const text of ["\0", "\\", "'", "\\' OR 1 --", "$$", "{x:String}", "\n"]) {
        expect([text, await rows({ filter: { keyId: [text], tag: [text] } })]).toEqual([text, [{ count: 0, spentCredits: 0 }]]);
      }
    });

    test("it does not count in the quota of SQL", async () => {
      for (let limit = 1; limit <= 5; limit++) await rows({ limit });
      const query = "SELECT count(*) AS n FROM key_verifications_v1";
      expect((await request(api.url, "analytics.getVerifications", { rootKey: api.rootKey, body: { query } })).status).toBe(200);
    });

    test("more than 10,000 cells are 400 that says which granularity fits, 10,000 are not", async () => {
      const start = today - 6 * DAY;
      const refusal = expectError(
        await ask({ granularity: "minute", start, end: start + 10_001 * MINUTE }),
        400,
        "application/invalid_input",
      );
      expect(refusal.detail).toContain("the granularity hour fits");
      expect(refusal.errors).toEqual([{ location: "body.granularity", message: expect.stringContaining("the granularity hour fits") }]);
      expect(await rows({ granularity: "minute", start, end: start + 10_000 * MINUTE })).toHaveLength(10_000);
      const grouped = expectError(
        await ask({ granularity: "minute", start, end: start + 9_000 * MINUTE, groupBy: ["keyId"] }),
        400,
        "invalid_input",
      );
      expect(grouped.detail).toContain("36000 rows");
      const far = expectError(await ask({ granularity: "hour", end: 4_102_444_800_000 }), 400, "application/invalid_input");
      expect(far.detail).toContain("the granularity month fits");
    });
  });

  describe("[management §8] getUsage", () => {
    test("refuses unknown fields, at the top and in the filter", async () => {
      expect(await wrong({ query: "SELECT 1" })).toEqual(["body.query"]);
      expect(await wrong({ filter: { region: ["x"] } })).toEqual(["body.filter.region"]);
    });

    test("what is required, of which type, within which bounds", async () => {
      expect((await wrong({ kind: undefined, start: undefined, end: undefined, granularity: undefined })).sort()).toEqual(
        ["body.end", "body.granularity", "body.kind", "body.start"].sort(),
      );
      expect(await wrong({ kind: "keys" })).toEqual(["body.kind"]);
      expect(await wrong({ granularity: "week" })).toEqual(["body.granularity"]);
      expect(await wrong({ orderBy: "name" })).toEqual(["body.orderBy"]);
      expect(await wrong({ start: "1" })).toEqual(["body.start"]);
      expect(await wrong({ start: -1 })).toEqual(["body.start"]);
      expect(await wrong({ end: 4_102_444_800_001 })).toEqual(["body.end"]);
      expect(await wrong({ limit: 0 })).toEqual(["body.limit"]);
      expect(await wrong({ limit: 1_001 })).toEqual(["body.limit"]);
      expect(await rows({ limit: 1 })).toHaveLength(1);
      expect(await rows({ limit: 1_000 })).toHaveLength(1);
      expect(await wrong({ filter: { keyId: Array(101).fill("k") } })).toEqual(["body.filter.keyId"]);
      expect(await rows({ filter: { keyId: Array(100).fill("key_2") } })).toMatchObject([{ count: 1 }]);
      expect(await wrong({ filter: { keyId: "k" } })).toEqual(["body.filter.keyId"]);
      expect(await wrong({ filter: { keyId: [null] } })).toEqual(["body.filter.keyId[0]"]);
      expect(await wrong({ kind: "ratelimits", filter: { passed: ["true"] } })).toEqual(["body.filter.passed[0]"]);
      expect(await wrong({ filter: { tag: ["t".repeat(513)] } })).toEqual(["body.filter.tag[0]"]);
      expect(await rows({ filter: { tag: ["😀".repeat(512)] } })).toMatchObject([{ count: 0 }]);
    });

    test("names of the other kind are refused in groupBy and filter", async () => {
      expect(await wrong({ groupBy: ["apiId", "passed"] })).toEqual(["body.groupBy[1]"]);
      expect(await wrong({ groupBy: ["key_id; DROP TABLE x"] })).toEqual(["body.groupBy[0]"]);
      expect(await wrong({ kind: "ratelimits", groupBy: ["tag"] })).toEqual(["body.groupBy[0]"]);
      expect(await wrong({ filter: { identifier: ["x"] } })).toEqual(["body.filter.identifier"]);
      expect(await wrong({ kind: "ratelimits", filter: { apiId: [] } })).toEqual(["body.filter.apiId"]);
    });

    test("start at or after end is 400; end is exclusive, start inclusive, to the millisecond", async () => {
      expect(await wrong({ end: today })).toEqual(["body.end"]);
      expect(await wrong({ end: today - 1 })).toEqual(["body.end"]);
      expect(await rows({ end: today + 1 })).toMatchObject([{ count: 1 }]);
      expect(await rows({ start: today + 1, end: today + 2 })).toMatchObject([{ count: 1 }]);
      expect(await rows({ start: today + 2, end: today + MINUTE })).toMatchObject([{ count: 0 }]);
    });

    test.each([
      ["minute", today, 181],
      ["hour", today, 4],
      ["day", today - 12 * HOUR, 1],
      ["month", Date.UTC(new Date(today).getUTCFullYear(), new Date(today).getUTCMonth()), 1],
    ])("intervals of a %s are aligned to UTC", async (granularity, first, count) => {
      const found = await rows({ granularity, start: today + 1, end: today + 3 * HOUR + 1 });
      expect([found.length, found[0]?.time]).toEqual([count, first]);
      expect(found.reduce((sum, row) => sum + Number(row.count), 0)).toBe(4);
    });

    test("months have the lengths they have", async () => {
      const months = await rows({ granularity: "month", end: Date.UTC(2028, 2, 1) + 1 });
      expect(months.slice(-3).map(({ time }) => time)).toEqual([Date.UTC(2028, 0, 1), Date.UTC(2028, 1, 1), Date.UTC(2028, 2, 1)]);
    });

    test("a start before the retention is 400 as in SQL, also in months; exactly the retention is not", async () => {
      const earliest = clock.now() - 30 * DAY;
      for (const granularity of ["day", "month", "total"]) {
        const refusal = expectError(
          await ask({ granularity, start: earliest - MINUTE }),
          400,
          "user/bad_request/query_range_exceeds_retention",
        );
        expect(refusal.detail).toContain("30 days");
        expect((await rows({ granularity, start: earliest })).reduce((sum, row) => sum + Number(row.count), 0)).toBe(5);
      }
    });

    test("by tag an event counts once for each of its tags, without tags as an empty one; a filter leaves its tags only", async () => {
      expect(await counts({ groupBy: ["tag"] })).toEqual({ x: 2, y: 1, "": 2, [odd]: 1 });
      expect(await counts({ groupBy: ["tag"], filter: { tag: ["y", ""] } })).toEqual({ y: 1, "": 2 });
      expect(await counts({ groupBy: ["keyId", "tag"], filter: { keyId: ["key_1"] } })).toEqual({ "key_1|x": 2, "key_1|y": 1 });
    });

    test("percentiles are of verifications that there were, and absent elsewhere", async () => {
      const [full, empty] = await rows({ granularity: "hour" });
      expect(full).toMatchObject({ latencyP50: 2, latencyP95: 2.9, latencyP99: 2.98 });
      const minutes = await rows({ granularity: "minute", end: today + 5 * HOUR });
      expect(minutes.filter(({ latencyP50 }) => latencyP50 !== undefined).map(({ count, latencyP99 }) => [count, latencyP99])).toEqual([
        ...[
          [2, 2],
          [1, 3],
          [2, 5],
        ],
      ]);
      expect(empty).toEqual({ time: today + HOUR, count: 0, spentCredits: 0 });
    });

    test("a root key sees the events of its APIs or namespaces only, whatever it groups and filters by", async () => {
      const forA = await api.createRootKey({ permissions: ["api.api_a.read_analytics", "ratelimit.rlns_b.read_analytics"] });
      const forBoth = await api.createRootKey({ permissions: ["api.api_a.read_analytics", "api.api_b.read_analytics"] });
      const forNobody = await api.createRootKey({ permissions: ["api.api_unknown.read_analytics"] });
      expect(await counts({ groupBy: ["apiId"] }, forA)).toEqual({ api_a: 3 });
      expect(await counts({ groupBy: ["apiId"] }, forBoth)).toEqual({ api_a: 3, api_b: 2 });
      expect(await rows({ groupBy: ["apiId"] }, forNobody)).toEqual([]);
      expect(await rows({ filter: { apiId: ["api_b"] } }, forA)).toEqual([{ count: 0, spentCredits: 0 }]);
      expect(await rows({ filter: { keyId: ["key_3"] } }, forA)).toEqual([{ count: 0, spentCredits: 0 }]);
      expect(await counts({ groupBy: ["keyId"], limit: 1 }, forA)).toEqual({ key_1: 2, "": 1 });
      expect(await limits({ groupBy: ["namespaceId"] }, forA)).toEqual([{ namespaceId: "rlns_b", count: 1, spentTokens: 0 }]);
      const denied = expectError(await ask({ kind: "ratelimits" }, forBoth), 403, "unkey/authorization/insufficient_permissions");
      expect(denied.detail).toContain("ratelimit.*.read_analytics");
      expect(denied.detail).not.toContain("api.*");
    });

    test("the shared answer is dropped by a change of permissions", async () => {
      const { keyId, key } = dataOf(
        await request(api.url, "rootKeys.createKey", {
          rootKey: api.rootKey,
          body: { name: "changed", permissions: ["api.api_a.read_analytics"] },
        }),
      ) as { keyId: string; key: string };
      const change = async (permissions: string[]) =>
        dataOf(await request(api.url, "rootKeys.updateKey", { rootKey: api.rootKey, body: { keyId, permissions } }));
      expect(await counts({ groupBy: ["apiId"], limit: 77 }, key)).toEqual({ api_a: 3 });
      await change(["api.api_b.read_analytics"]);
      expect(await counts({ groupBy: ["apiId"], limit: 77 }, key)).toEqual({ api_b: 2 });
      await change(["api.*.read_analytics"]);
      expect(await counts({ groupBy: ["apiId"], limit: 77 }, key)).toEqual({ api_a: 3, api_b: 2 });
      await change(["ratelimit.*.read_analytics"]);
      expectError(await ask({ groupBy: ["apiId"], limit: 77 }, key), 403, "insufficient_permissions");
    });

    test("what is wrong with a body is told before a missing permission", async () => {
      const powerless = await api.createRootKey({ permissions: [] });
      expectError(await ask({ end: today }, powerless), 400, "application/invalid_input");
      expectError(await ask({ groupBy: ["passed"] }, powerless), 400, "application/invalid_input");
      expectError(await ask({ start: 0 }, powerless), 403, "insufficient_permissions");
    });
  });
});

describe.each(ways)("[management §8] getUsage of times before single events are kept, on $name", (way) => {
  const old = today - 200 * DAY;
  const older = today - 800 * DAY;
  let place: Place;
  let analytics: ReturnType<typeof openAnalytics>;
  beforeAll(async () => {
    place = await way.open();
    await seed(place, {
      verifications: [old, old + 1, older, today].map((time) => ({ time, apiId: "api_a", tags: ["x"], spentCredits: 2 })),
      ratelimits: [
        ...[true, true, false].map((passed) => ({ time: today - 60 * DAY, identifier: "u", passed, tokens: 3 })),
        ...[true, false].map((passed) => ({ time: old, identifier: "u", passed, tokens: 5 })),
        { time: today, identifier: "u", passed: false, tokens: 7 },
      ],
    });
    analytics = openAnalytics(place, { retentionDays: 1_000 });
  });
  afterAll(async () => {
    await analytics.stop();
    await place.close();
  });

  const question = { filter: {}, orderBy: "time", limit: 100, groupBy: [], start: older - DAY, end: today + 1 } as const;
  const usage = async (asked: Partial<UsageQuestion> & Pick<UsageQuestion, "kind" | "granularity">, scope?: readonly string[]) => {
    const rows = await analytics.usage({ question: { ...question, ...asked }, scope, now: today, signal: AbortSignal.timeout(60_000) });
    return rows.filter(({ count }) => count !== 0);
  };

  test.each([undefined, ["api_a"]])("verifications come from sums, each once (scope %s)", async (scope) => {
    const kind = "verifications";
    expect(await usage({ kind, granularity: "total" }, scope)).toMatchObject([{ count: 4, spentCredits: 8, latencyP50: 1 }]);
    expect(await usage({ kind, granularity: "total", end: today }, scope)).toEqual([{ count: 3, spentCredits: 6 }]);
    const months = await usage({ kind, granularity: "month", groupBy: ["tag"], filter: { tag: ["x"] } }, scope);
    const monthOf = (time: number) => Date.UTC(new Date(time).getUTCFullYear(), new Date(time).getUTCMonth());
    expect(months.map(({ time, tag, count }) => [time, tag, count])).toEqual([
      [monthOf(older), "x", 1],
      [monthOf(old), "x", 2],
      [monthOf(today), "x", 1],
    ]);
    const days = await usage({ kind, granularity: "day", start: old - DAY }, scope);
    expect(days.map(({ time, count }) => [time, count])).toEqual([
      [Math.floor(old / DAY) * DAY, 2],
      [Math.floor(today / DAY) * DAY, 1],
    ]);
  });

  test.each([undefined, ["rlns_1"]])("rate limits tell passed and denied ones apart in sums as well (scope %s)", async (scope) => {
    const kind = "ratelimits";
    const granularity = "total";
    expect(await usage({ kind, granularity }, scope)).toEqual([{ count: 6, spentTokens: 11 }]);
    expect(await usage({ kind, granularity, groupBy: ["passed"] }, scope)).toEqual([
      { passed: false, count: 3, spentTokens: 0 },
      { passed: true, count: 3, spentTokens: 11 },
    ]);
    expect(await usage({ kind, granularity, filter: { passed: [false] } }, scope)).toEqual([{ count: 3, spentTokens: 0 }]);
    expect(await usage({ kind, granularity: "day", start: today - 61 * DAY, filter: { passed: [true] } }, scope)).toEqual([
      { time: Math.floor((today - 60 * DAY) / DAY) * DAY, count: 2, spentTokens: 6 },
    ]);
  });

  test("nothing outside of the scope is in them", async () => {
    expect(await usage({ kind: "verifications", granularity: "total" }, ["api_b"])).toEqual([]);
    expect(await usage({ kind: "ratelimits", granularity: "month", groupBy: ["passed"] }, ["rlns_2"])).toEqual([]);
  });
});
