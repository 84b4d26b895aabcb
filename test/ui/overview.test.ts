import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { UsageGranularity } from "../../gen/latchkey/v2/analytics_pb.ts";
import { KeySchema } from "../../gen/latchkey/v2/common_pb.ts";
import { VerificationCode, VerificationCodeSchema } from "../../gen/latchkey/v2/keys_pb.ts";
import { MigrationAlgorithm, MigrationAlgorithmSchema } from "../../gen/latchkey/v2/migrations_pb.ts";
import { NodeSchema } from "../../gen/latchkey/v2/nodes_pb.ts";
import { enumName } from "../../ui/src/data/code/enumName.ts";
import { latestSign, nodeTroubles } from "../../ui/src/data/figures/nodeHealth.ts";
import { addSample, type NodeHistory, totalHistory } from "../../ui/src/data/figures/nodeHistory.ts";
import { intervalLength } from "../../ui/src/data/figures/timeRange.ts";
import { loneValues } from "../../ui/src/design/charts/loneValues.ts";
import { byCredits, bySoonest, isLive } from "../../ui/src/pages/overview/attention.ts";
import { countOutcomes, denialLines, rateLines } from "../../ui/src/pages/overview/outcomeFigures.ts";

const healthy = {
  nodeId: "node_1",
  lastSeenAt: 100_000n,
  store: { kind: "mongo", up: true, latencyMs: 2n },
  analytics: { kind: "clickhouse", up: true, dropped: 0n },
};

describe("[console §3] health of nodes, in words", () => {
  test.each([
    [{}, []],
    [{ lastSeenAt: 70_000n }, ["silent for 30 s"]],
    [{ store: { kind: "mongo", up: false } }, ["store down"]],
    [{ analytics: { kind: "none", up: false } }, []],
    [{ analytics: { kind: "clickhouse", up: false, dropped: 1200n } }, ["analytics down", "1,200 events lost"]],
    [{ changesLagMs: 7000n, eventLoopLagMs: 400n }, ["changes 7 s behind", "timers 400 ms late"]],
  ])("%o: %o", (facts, troubles) => {
    const node = create(NodeSchema, { ...healthy, ...facts });
    expect(nodeTroubles(node, 100_000n)).toEqual(troubles);
  });

  test("by the latest sign of any node, not by the reader's clock", () => {
    expect(latestSign([create(NodeSchema, healthy), create(NodeSchema, { lastSeenAt: 5n })])).toBe(100_000n);
    expect(latestSign([])).toBe(0n);
  });
});

test("activity of nodes since the page was opened is added up from the end, and that of nodes that are gone is dropped", () => {
  const node = (nodeId: string, verificationsPerSecond: bigint) => create(NodeSchema, { nodeId, verificationsPerSecond });
  const empty: NodeHistory = new Map();
  const one = addSample(empty, [node("a", 1n)]);
  const two = addSample(one, [node("a", 2n), node("b", 10n)]);
  expect(totalHistory(empty)).toEqual([]);
  expect(totalHistory(two)).toEqual([1, 12]);
  expect(totalHistory(addSample(two, [node("b", 20n)]))).toEqual([10, 20]);
  let long = empty;
  for (let count = 0; count < 100; count += 1) long = addSample(long, [node("a", BigInt(count))]);
  expect(totalHistory(long)).toHaveLength(60);
});

describe("[console §3] verifications a second, and denials by reason", () => {
  const lines = {
    times: [0, 60_000, 120_000],
    series: [
      { name: "VALID", values: [120, 30, 0] },
      { name: "DISABLED", values: [0, 6, 0] },
      { name: "RATE_LIMITED", values: [6, 6, 0] },
      { name: "EXPIRED", values: [0, 0, 0] },
    ],
  };

  test("denials are counted by reason, the most frequent first", () => {
    expect(countOutcomes(lines)).toEqual({
      total: 168,
      denied: 18,
      reasons: [
        { outcome: "RATE_LIMITED", count: 12 },
        { outcome: "DISABLED", count: 6 },
      ],
    });
    expect(denialLines(lines).series.map(({ name }) => name)).toEqual(["DISABLED", "RATE_LIMITED"]);
  });

  test("the running interval is divided by what has passed of it, and one that has not begun has no rate", () => {
    expect(rateLines(lines, 60_000, 90_000)).toEqual({
      times: lines.times,
      series: [
        { name: "valid", values: [2, 1, undefined] },
        { name: "denied", values: [0.1, 0.4, undefined] },
      ],
    });
  });

  test("intervals have a length, but months do not", () => {
    expect(intervalLength(UsageGranularity.HOUR)).toBe(3_600_000);
    expect(intervalLength(UsageGranularity.MONTH)).toBeUndefined();
  });
});

test("keys that need attention work now, and the most urgent come first", () => {
  const key = (expires: bigint | undefined, remaining: bigint, enabled = true) =>
    create(KeySchema, { ...(expires === undefined ? {} : { expires }), credits: { remaining }, enabled });
  const [late, soon] = [key(300n, 9_007_199_254_740_991n), key(200n, 1n)];
  expect([late, soon].sort(bySoonest)).toEqual([soon, late]);
  expect([late, soon].sort(byCredits)).toEqual([soon, late]);
  expect([key(100n, 0n), key(101n, 0n), key(undefined, 0n), key(undefined, 0n, false)].map((each) => isLive(each, 100))).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

test("a value without a neighbour is drawn as a point", () => {
  expect(loneValues([1, undefined, 2, 3, undefined, 0])).toEqual([0, 5]);
  expect(loneValues([])).toEqual([]);
});

test("[protocol §4] values of enums are named as in JSON", () => {
  expect(enumName(VerificationCodeSchema, VerificationCode.NOT_FOUND)).toBe("NOT_FOUND");
  expect(enumName(MigrationAlgorithmSchema, MigrationAlgorithm.PREFIXED_API_KEY)).toBe("github.com/seamapi/prefixed-api-key");
  expect(enumName(VerificationCodeSchema, 99)).toBe("99");
});
