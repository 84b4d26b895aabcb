import { expect, test } from "vitest";
import { startCluster } from "./cluster.ts";
import { realCombinations, runReal } from "./realRun.ts";

const server = process.env.MONGODB_URL;

test.runIf(server !== undefined)(
  "[ratelimit §13] three processes on one MongoDB server admit nothing over three limits of 10 s, and 95 % of what one node admits",
  async () => {
    await using cluster = await startCluster(server ?? "", 3);
    const { results } = await runReal(cluster);
    expect(results.length).toBe(realCombinations.length);
    for (const result of results) {
      expect(result.overAdmitted, JSON.stringify(result)).toBe(0);
      expect(result.admitted, JSON.stringify(result)).toBeGreaterThanOrEqual(0.95 * result.allowed);
    }
  },
  120_000,
);
