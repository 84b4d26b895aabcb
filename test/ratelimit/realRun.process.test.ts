import { expect, test } from "vitest";
import { startCluster } from "../../bench/limiterRuns/cluster.ts";
import { realCombinations, runReal } from "../../bench/limiterRuns/realRun.ts";
import { sized } from "../support/sized.ts";

const server = process.env.MONGODB_URL;

test.runIf(server !== undefined)(
  "[ratelimit §13] three processes on one MongoDB server admit nothing over three limits of 10 s, and 95 % of what one node admits",
  async () => {
    await using cluster = await startCluster(server ?? "", 3, { RATELIMIT_STORE_DOWN: "deny" });
    const combinations = realCombinations.map(({ limit, windows, ...combination }) => ({
      ...combination,
      limit: sized(Math.min(limit, 300), limit),
      windows: sized(2, windows),
    }));
    const { results } = await runReal(cluster, combinations);
    expect(results.length).toBe(combinations.length);
    // On a machine with too much to do, where calls wait or the store seems away, the share says nothing about the nodes.
    const wasAway = cluster.nodes.some(({ service }) => service.output.stderr.includes("store away"));
    const wasBusy = wasAway || results.some(({ longestWait }) => longestWait > 250);
    for (const result of results) {
      expect(result.overAdmitted, JSON.stringify(result)).toBe(0);
      if (!wasBusy) expect(result.admitted, JSON.stringify(result)).toBeGreaterThanOrEqual(0.95 * result.allowed);
    }
  },
  120_000,
);
