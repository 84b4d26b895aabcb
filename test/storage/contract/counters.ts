import fc from "fast-check";
import { expect, test } from "vitest";
import { chargeCounter } from "../../../src/platform/storage/counters/planCharge.ts";
import { type ChargeRequest, refunded, type SharedCounter } from "../../../src/platform/storage/counters/sharedCounter.ts";
import type { Counters } from "../../../src/platform/storage/port/counters.ts";
import { sized } from "../../support/sized.ts";

const HOUR = 3_600_000;

/** What every engine of counters promises (`counters.ts`), by the time of the requests. */
export const testCounters = (counters: () => Counters): void => {
  let keys = 0;
  const newKey = (): string => `namespace:rlns_contract:${HOUR}:user_${keys++}`;
  const request = (changes: Partial<ChargeRequest>): ChargeRequest => ({
    ...{ duration: HOUR, limit: 10, cost: 1, need: 1, chunk: 0, now: Date.now(), held: 0, heldSeq: -1, known: undefined },
    ...changes,
  });

  test("a counter that nobody has charged is not there", async () => {
    expect(await counters().read(newKey())).toBeNull();
  });

  test("one operation after the other does what the rule says", async () => {
    const step = fc.record({
      kind: fc.constantFrom("charge", "charge", "charge", "refund"),
      passed: fc.constantFrom(0, 0, 1_000, HOUR / 2, HOUR, 3 * HOUR),
      limit: fc.constantFrom(5, 10, 100),
      cost: fc.constantFrom(1, 1, 2, 7),
      need: fc.nat({ max: 8 }),
      chunk: fc.nat({ max: 8 }),
      kept: fc.nat({ max: 3 }),
      amount: fc.nat({ max: 3 }),
      ago: fc.nat({ max: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
        const key = newKey();
        let now = Date.now();
        let counter: SharedCounter | null = null;
        let held = 0;
        let heldSeq = -1;
        for (const { kind, passed, kept, amount, ago, ...size } of steps) {
          now += passed;
          if (kind === "refund" && counter !== null) {
            // Nobody gives back more than was charged.
            const seq: number = counter.seq - ago;
            const most: number = seq === counter.seq ? counter.current : seq === counter.seq - 1 ? counter.previous : 0;
            const given = Math.min(amount, most);
            await counters().refund(key, seq, given);
            counter = refunded(counter, seq, given);
            held = 0;
          } else {
            const asked = request({ ...size, now, held, heldSeq });
            const { next, answer } = chargeCounter(counter, asked);
            expect(await counters().charge(key, asked)).toMatchObject(answer);
            counter = next ?? counter;
            held = Math.min(kept, answer.amount);
            heldSeq = answer.counter.seq;
          }
          expect(await counters().read(key)).toEqual(counter === null ? null : expect.objectContaining(counter));
        }
      }),
      { numRuns: sized(20, 200) },
    );
  });

  test("charges in parallel grant the limit together, and no more", async () => {
    const key = newKey();
    const answers = await Promise.all(Array.from({ length: 30 }, () => counters().charge(key, request({}))));
    expect(answers.filter(({ isGranted }) => isGranted).length).toBe(10);
    expect(new Set(answers.filter(({ isGranted }) => isGranted).map(({ amount }) => amount))).toEqual(new Set([1]));
    expect((await counters().read(key))?.current).toBe(10);
  });

  test("refunds and charges in parallel lose nothing", async () => {
    const key = newKey();
    const { counter } = await counters().charge(key, request({ limit: 1_000, need: 50 }));
    await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        i % 2 === 0 ? counters().charge(key, request({ limit: 1_000 })) : counters().refund(key, counter.seq, 1),
      ),
    );
    expect((await counters().read(key))?.current).toBe(50);
  });
};
