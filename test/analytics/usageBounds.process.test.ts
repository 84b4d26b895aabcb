// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { dataOf, expectError } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { DAY, HOUR, MINUTE, now, odd, onUsage, today } from "./usageRun.ts";

onUsage(({ api, ask, rows, limits, counts, wrong }) => {
  describe("[management §8] getUsage", () => {
    test("refuses unknown fields, at the top and in the filter", async () => {
      expect(await wrong({ query: "SELECT 1" })).toEqual(["body.query"]);
      expect(await wrong({ filter: { region: ["x"] } })).toEqual(["body.filter.region"]);
    });

    test("required fields, types and bounds", async () => {
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
      // All problems are reported at once.
      expect(await wrong({ groupBy: ["passed", "apiId", "nothing"], filter: { identifier: ["x"], apiId: [], passed: [true] } })).toEqual([
        ...["body.groupBy[0]", "body.groupBy[2]", "body.filter.identifier", "body.filter.passed"],
      ]);
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
      const earliest = now - 30 * DAY;
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
      const forA = await api().createRootKey({ permissions: ["api.api_a.read_analytics", "ratelimit.rlns_b.read_analytics"] });
      const forBoth = await api().createRootKey({ permissions: ["api.api_a.read_analytics", "api.api_b.read_analytics"] });
      const forNobody = await api().createRootKey({ permissions: ["api.api_unknown.read_analytics"] });
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
        await request(api().url, "rootKeys.createKey", {
          rootKey: api().rootKey,
          body: { name: "changed", permissions: ["api.api_a.read_analytics"] },
        }),
      ) as { keyId: string; key: string };
      const change = async (permissions: string[]) =>
        dataOf(await request(api().url, "rootKeys.updateKey", { rootKey: api().rootKey, body: { keyId, permissions } }));
      expect(await counts({ groupBy: ["apiId"], limit: 77 }, key)).toEqual({ api_a: 3 });
      await change(["api.api_b.read_analytics"]);
      expect(await counts({ groupBy: ["apiId"], limit: 77 }, key)).toEqual({ api_b: 2 });
      await change(["api.*.read_analytics"]);
      expect(await counts({ groupBy: ["apiId"], limit: 77 }, key)).toEqual({ api_a: 3, api_b: 2 });
      await change(["ratelimit.*.read_analytics"]);
      expectError(await ask({ groupBy: ["apiId"], limit: 77 }, key), 403, "insufficient_permissions");
    });

    test("a violation in the body is reported before a missing permission", async () => {
      const powerless = await api().createRootKey({ permissions: [] });
      expectError(await ask({ end: today }, powerless), 400, "application/invalid_input");
      expectError(await ask({ groupBy: ["passed"] }, powerless), 400, "application/invalid_input");
      expectError(await ask({ start: 0 }, powerless), 403, "insufficient_permissions");
    });
  });
});
