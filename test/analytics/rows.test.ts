import { expect, test } from "vitest";
import { ratelimitRow, verificationRow } from "../../src/features/analytics/rows.ts";

const common = { requestId: "req_1", time: 1_700_000_000_000 };
const verification = {
  ...common,
  apiId: "api_1",
  keyId: "key_1",
  identityId: "",
  externalId: "",
  outcome: "VALID",
  tags: [],
  spentCredits: 0,
};
const check = {
  ...common,
  namespaceId: "rlns_1",
  identifier: 'a "user"\n',
  passed: true,
  overrideId: "",
  limit: 10,
  remaining: 9,
  resetAt: 1,
  tokens: 1,
};

test("[analytics §4] a verification becomes one line of JSON, its latency to the nanosecond", () => {
  const row = verificationRow({ ...verification, latency: 0.123_456_789 }, "writer", 7);
  expect(row).not.toContain("\n");
  expect(JSON.parse(row)).toEqual(["req_1", common.time, "api_1", "", "", "key_1", "VALID", [], 0, 0.123457, "writer", 7]);
});

test("[analytics §5] a check becomes one line of JSON, whatever its identifier; the share of a large batch is not lost", () => {
  const row = ratelimitRow({ ...check, latency: 0.000_42 }, "writer", 8);
  expect(row).not.toContain("\n");
  expect(JSON.parse(row)).toEqual(["req_1", common.time, "rlns_1", 'a "user"\n', true, 0.00042, "", 10, 9, 1, 1, "writer", 8]);
});
