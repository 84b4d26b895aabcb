import { describe, expect, test } from "vitest";
import { writeHistory } from "../../bench/visibilityRuns/history.ts";
import { sized } from "../support/sized.ts";

const server = process.env.MONGODB_URL;
/** A node that has not seen a change after the promised second is asked a few times more before a round ends. */
const pause = sized(50, 5);

// The embedded store has one process. `npm run visibility` does the same a thousand times.
describe.runIf(server)("revocations by nodes that die or lose their connection in that instant", { timeout: 180_000 }, () => {
  test("every call that begins more than a second after the acknowledgement knows, or says that it may not", async () => {
    const { violations, kills, cuts, calls } = await writeHistory(server ?? "", sized(24, 60), { pause });
    expect(violations).toBe(0);
    expect(kills).toBeGreaterThan(0);
    expect(cuts).toBeGreaterThan(0);
    expect(calls.revoked).toBeGreaterThan(0);
  });

  test("when changes are announced after the acknowledgement, the same test finds calls with old answers from memory", async () => {
    // Whether one of a series meets such a call is chance.
    let found = 0;
    for (let series = 1; series <= 5 && found === 0; series++)
      found += (await writeHistory(server ?? "", 30, { guarded: false, pause })).violations;
    expect(found).toBeGreaterThan(0);
  });
});
