// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { dataOf, expectError } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { DAY, HOUR, MINUTE, odd, onUsage, range, today } from "./usageRun.ts";

onUsage(({ api, ask, rows, limits, counts, wrong }) => {
  describe("[management §6] getUsage", () => {
    test("counts events and what they spent, on every edge alike", async () => {
      const body = { kind: "verifications", granularity: "total", ...range };
      for (const edge of api().edges) {
        const answer = dataOf(await edge.call("analytics.getUsage", body, api().rootKey));
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

    test("a filter without matches counts 0 and gives no group", async () => {
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
      expect((await request(api().url, "analytics.getVerifications", { rootKey: api().rootKey, body: { query } })).status).toBe(200);
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
});
