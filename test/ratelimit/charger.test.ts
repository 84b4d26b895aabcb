import { describe, expect, test } from "vitest";
import { simulatedCounters } from "../../bench/limiterRuns/simulation.ts";
import type { ChargeRequest } from "../../src/domain/sharedCounter.ts";
import { createCharger } from "../../src/ratelimit/charger.ts";
import { createLocalCounter, type LocalCounter } from "../../src/ratelimit/localCounter.ts";
import type { Counters } from "../../src/storage/port/counters.ts";
import { StoreUnavailableError } from "../../src/storage/port/errors.ts";
import { createTestClock } from "../support/testClock.ts";

const D = 1_000;
/** The middle of window 10. */
const NOW = 10_500;
const SIZE = { limit: 100, cost: 1, need: 1, chunk: 0 };

const startCharger = (charge?: Counters["charge"]) => {
  const clock = createTestClock(NOW);
  const asked: (ChargeRequest | { readonly refund: number; readonly seq: number })[] = [];
  const counters = simulatedCounters({ latency: () => 0 });
  const watched: Counters = {
    ...counters,
    charge: (key, request) => {
      asked.push(request);
      return (charge ?? counters.charge)(key, request);
    },
    refund: (key, seq, amount) => {
      asked.push({ refund: amount, seq });
      return counters.refund(key, seq, amount);
    },
  };
  return { clock, asked, counters, charger: createCharger(watched, clock) };
};
const counterWith = (known: Partial<LocalCounter>): LocalCounter => Object.assign(createLocalCounter("a", D), known);

describe("a charge", () => {
  test.each([
    { sentence: "of a counter that the node never saw says so", counter: {}, known: null },
    {
      sentence: "passes on what is known of the present window",
      counter: { seq: 10, current: 30, previous: 20, stored: true },
      known: { seq: 10, current: 30, previous: 20 },
    },
    {
      sentence: "passes on nothing that is known of the window before",
      counter: { seq: 9, current: 30, previous: 20, stored: true },
      known: undefined,
    },
    {
      sentence: "passes on nothing of a window that the store did not have",
      counter: { seq: 10, current: 0, previous: 20, stored: false },
      known: undefined,
    },
  ])("$sentence", async ({ counter, known }) => {
    const { asked, charger } = startCharger();
    await charger.charge(counterWith(counter), SIZE);
    expect(asked).toMatchObject([{ now: NOW, duration: D }]);
    expect((asked[0] as ChargeRequest).known).toEqual(known);
  });

  test.each([
    { sentence: "under a lower limit gives a higher limit's budget back first", heldLimit: 200, seq: 10, refunds: true },
    { sentence: "keeps a lower limit's budget", heldLimit: 100, seq: 10, refunds: false },
    { sentence: "leaves budget of a window that is over to the engine", heldLimit: 200, seq: 9, refunds: false },
  ])("$sentence", async ({ heldLimit, seq, refunds }) => {
    const { asked, counters, charger } = startCharger();
    await counters.charge("a", { ...SIZE, duration: D, need: 3, now: seq * D, held: 0, heldSeq: -1, known: null });
    const counter = counterWith({ seq, current: 3, stored: true, held: 3, heldLimit });
    await charger.charge(counter, { ...SIZE, cost: 5, need: 5 });
    expect(asked.filter((each) => "refund" in each)).toEqual(refunds ? [{ refund: 3, seq: 10 }] : []);
    expect(counter).toMatchObject({ seq: 10, held: 5 });
    expect(counters.peek("a")).toMatchObject({ seq: 10, current: 5, previous: 0 });
  });

  test("whose outcome nobody knows loses the held budget, which may have gone back with it", async () => {
    const lost = startCharger(() => Promise.reject(new StoreUnavailableError("lost", { outcomeUnknown: true })));
    const counter = counterWith({ seq: 9, held: 3, heldLimit: 100 });
    await expect(lost.charger.charge(counter, SIZE)).rejects.toThrow("lost");
    expect(counter.held).toBe(0);
  });

  test("that was not sent keeps the held budget", async () => {
    const unsent = startCharger(() => Promise.reject(new StoreUnavailableError("unreachable")));
    const counter = counterWith({ seq: 10, held: 3, heldLimit: 100 });
    await expect(unsent.charger.charge(counter, { ...SIZE, cost: 4 })).rejects.toThrow("unreachable");
    expect(counter.held).toBe(3);
  });
});
