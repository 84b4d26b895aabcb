// @same-on-every-engine
import { afterAll, expect, test } from "vitest";
import { embeddedAnalytics } from "../../support/analytics.ts";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";

const analytics = embeddedAnalytics();
afterAll(analytics.remove);

const HOUR = 3_600_000;
const forbidden = "unkey/authorization/insufficient_permissions";

everywhere(
  (run) => {
    test("[management §6] getQuota tells what is left of the queries and of their time; only a query that ran takes of it", async () => {
      const before = await run.data("analytics.getQuota", {});
      expect(Object.keys(before).sort()).toEqual(["queriesLeft", "resetsAt", "secondsLeft"]);
      const queriesLeft = before.queriesLeft as number;
      const resetsAt = before.resetsAt as number;
      expect([resetsAt % HOUR, Math.ceil((resetsAt - Date.now()) / HOUR)]).toEqual([0, 1]);
      await run.call("analytics.getVerifications", { query: "no SQL" });
      expect(await run.data("analytics.getQuota", {})).toMatchObject({ queriesLeft });
      await run.data("analytics.getVerifications", { query: "SELECT count(*) AS n FROM key_verifications_v1" });
      const after = await run.data("analytics.getQuota", {});
      expect(after.queriesLeft).toBe(queriesLeft - 1);
      expect(after.secondsLeft).toBeLessThanOrEqual(before.secondsLeft as number);
      expect(after.secondsLeft).toBeGreaterThan(0);
    });

    test("[management §6] any read_analytics grant suffices, for one id too; without one the error names both", async () => {
      for (const permission of [
        ...["api.*.read_analytics", "api.api_1.read_analytics"],
        ...["ratelimit.*.read_analytics", "ratelimit.rlns_1.read_analytics"],
      ]) {
        const rootKey = await run.api.createRootKey({ permissions: [permission] });
        expect(await run.data("analytics.getQuota", {}, rootKey)).toMatchObject({ queriesLeft: expect.any(Number) });
      }
      const other = await run.api.createRootKey({ permissions: ["api.*.read_api", "ratelimit.*.limit"] });
      const { detail } = expectError(await run.call("analytics.getQuota", {}, other), 403, forbidden);
      expect(detail).toContain("api.*.read_analytics or ratelimit.*.read_analytics");
    });

    test("[management §8] unknown fields are refused", async () => {
      const answer = await run.call("analytics.getQuota", { query: "SELECT 1" });
      // In Protobuf's binary form a field that is not known says nothing.
      if (run.edge === "v2") expectError(answer, 400, "unkey/application/invalid_input");
    });
  },
  undefined,
  { env: { ...analytics.env, ANALYTICS_QUERIES_PER_HOUR: "1000", ANALYTICS_SECONDS_PER_HOUR: "100" } },
);

everywhere(
  (run) => {
    test("[management §6] nothing is left when the queries are used up, and the next query is refused", async () => {
      const query = "SELECT count(*) AS n FROM key_verifications_v1";
      expect(await run.data("analytics.getQuota", {})).toMatchObject({ queriesLeft: 1 });
      await run.data("analytics.getVerifications", { query });
      expect(await run.data("analytics.getQuota", {})).toMatchObject({ queriesLeft: 0 });
      expectError(await run.call("analytics.getVerifications", { query }), 429, "user/too_many_requests/query_quota_exceeded");
      expect(await run.data("analytics.getQuota", {})).toMatchObject({ queriesLeft: 0 });
    });
  },
  ["v2"],
  { env: { ...analytics.env, ANALYTICS_QUERIES_PER_HOUR: "1" } },
);

everywhere(
  (run) => {
    test("[management §6] without an analytics store it is 412, after 403", async () => {
      const powerless = await run.api.createRootKey({ permissions: [] });
      expectError(await run.call("analytics.getQuota", {}, powerless), 403, forbidden);
      expectError(await run.call("analytics.getQuota", {}), 412, "unkey/data/analytics_not_configured");
    });
  },
  ["v2", "grpc"],
  { env: { ANALYTICS: "off" } },
);
