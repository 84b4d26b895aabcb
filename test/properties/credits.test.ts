import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { type Api, startApi } from "../support/api.ts";
import { sized } from "../support/sized.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";
import { eventsIn } from "../support/written.ts";
import { carryOut, createKey, type Node, readCredits } from "./creditsClient.ts";
import { type Batch, batches, type Credits, possibleAfter, startingCredits } from "./creditsModel.ts";

const delays = [0, 2, 0, 0, 1, 0, 3, 0, 0, 0, 2, 1, 0];

/** Operations on keys take uneven times, so that they overtake one another. */
const unevenly = (store: Store): Store => {
  let next = 0;
  const wait = async (): Promise<void> => {
    const delay = delays[next++ % delays.length];
    if (delay) await sleep(delay);
  };
  return interceptStore(store, async (operation, { collection }) => {
    if (collection !== "keys") return operation();
    await wait();
    return operation().finally(wait);
  });
};

/**
 * Concurrent changes to the credits of one key are linearizable: some order of the calls explains
 * every answer and the final balance.
 */
describe.each(engines)("on $name", { timeout: 300_000 }, (engine) => {
  const clock = createTestClock(Date.parse("2031-01-15T12:00:00Z"));
  const apis: Api[] = [];
  let nodes: Node[] = [];
  beforeAll(async () => {
    const store = await engine.open();
    for (const each of [store, await engine.openBeside(store)]) apis.push(await startApi(engine, { store: unevenly(each), clock }));
    nodes = apis.map(
      ({ edges, rootKey }) =>
        (procedure, body) =>
          edges[0]?.call(procedure, body, rootKey) ?? expect.unreachable(),
    );
  });
  afterAll(async () => {
    for (const api of apis.reverse()) await api.close();
    await engine.close();
  });
  const nodeAt = (index: number): Node => nodes[index] ?? expect.unreachable();

  const check = async (start: Omit<Credits, "mark">, planned: readonly Batch[]): Promise<void> => {
    const key = await createKey(nodeAt(0), start.remaining === undefined ? undefined : start);
    let possible: readonly Credits[] = [{ ...start, ...(start.refill === undefined ? {} : { mark: clock.now() }) }];
    for (const { wait, calls } of planned) {
      clock.advance(wait);
      const results = await Promise.all(
        calls.map(async ({ action, node }) => ({ action, seen: await carryOut(nodeAt(node), key, action) })),
      );
      const before = possible;
      possible = possibleAfter(before, results, clock.now());
      expect(possible.length, `no order explains ${JSON.stringify({ before, now: clock.now(), results })}`).toBeGreaterThan(0);
      for (const node of nodes) {
        const read = { action: { do: "read" } as const, seen: await readCredits(node, key.keyId) };
        const explained = possibleAfter(possible, [read], clock.now());
        expect(explained.length, `${JSON.stringify({ before, results, read })}`).toBeGreaterThan(0);
        possible = explained;
      }
    }
  };

  const numRuns = engine.name === "embedded" ? sized(20, 60) : sized(8, 25);

  test("[keys §9, verify §11] one call after the other, on two nodes, is what the contract says by hand", async () => {
    const planned = batches({ unlimited: false, parallel: 1, nodes: 2 });
    await fc.assert(fc.asyncProperty(startingCredits({ unlimited: false }), planned, check), { numRuns });
  });

  test("[keys §9, verify §11] on one node, calls at the same time neither lose nor invent a credit, unlimited times included", async () => {
    const planned = batches({ unlimited: true, parallel: 6, nodes: 1 });
    await fc.assert(fc.asyncProperty(startingCredits({ unlimited: true }), planned, check), { numRuns });
  });

  test("[keys §9, verify §11] on two nodes, calls at the same time neither lose nor invent a credit", async () => {
    const planned = batches({ unlimited: false, parallel: 6, nodes: 2 });
    await fc.assert(fc.asyncProperty(startingCredits({ unlimited: false }), planned, check), { numRuns });
  });

  test("[keys §1.9] no two applications of refills of one key start or end with the same instant", async () => {
    const applications = (await eventsIn(apis[0]?.store ?? expect.unreachable())).filter(({ actor }) => actor.type === "system");
    const perKey = Map.groupBy(applications, ({ resources }) => resources[0]?.id);
    expect(perKey.size).toBeGreaterThan(0);
    // Time passes between batches only, so that a second application at the same time would be of the same instants.
    for (const events of perKey.values()) expect(new Set(events.map(({ time }) => time)).size).toBe(events.length);
  });
});
