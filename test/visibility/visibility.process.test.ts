import { describe, expect, test } from "vitest";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { kinds } from "../../bench/visibilityRuns/kinds.ts";
import { measure, startCluster } from "../../bench/visibilityRuns/measure.ts";

/** The bound of the contract. */
const BOUND_MS = 30_000;

/** Milliseconds between two questions, and by how many more than that one has to know earlier who was told, rather than asked again by itself. */
const PAUSES = { hearing: 50, deaf: 500 };
const AHEAD = 1_000;

const server = process.env.MONGODB_URL;

// The embedded store has one process.
describe.runIf(server)("processes on one MongoDB database", { timeout: 180_000 }, () => {
  test("[protocol §7] [verify §12] every kind of change is seen within 30 s by a node that is notified, and by one that is not", async () => {
    const url = freshMongoUrl(server ?? "");
    try {
      await using cluster = await startCluster(url, PAUSES);
      // All at once, so that what a node knows has to run out only once.
      const { writer, hearing, deaf } = cluster;
      const delays = await Promise.all(
        kinds.map(async (kind) => {
          const [heard = Number.NaN, ranOut = Number.NaN] = await measure(kind, writer, [hearing, deaf]);
          return { kind: kind.name, heard, ranOut };
        }),
      );
      expect(delays.filter(({ heard, ranOut }) => heard > BOUND_MS || ranOut > BOUND_MS)).toEqual([]);
      // Or else the feed was not what told one of them.
      expect(delays.filter(({ heard, ranOut }) => ranOut - heard > AHEAD).length).toBeGreaterThan(kinds.length / 2);
    } finally {
      await dropMongoDatabase(url);
    }
  });
});
