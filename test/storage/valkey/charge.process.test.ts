import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerProcess, startCounterServer } from "../../../bench/harness/counterServers.ts";
import { chargeCounter } from "../../../src/platform/storage/counters/planCharge.ts";
import { type ChargeRequest, refunded, type SharedCounter } from "../../../src/platform/storage/counters/sharedCounter.ts";
import type { CounterServer } from "../../../src/platform/storage/port/counterServer.ts";
import { connectCounterServer, describeOnCounterServer } from "../../support/counterServers.ts";
import { sized } from "../../support/sized.ts";

const MAX = Number.MAX_SAFE_INTEGER;

/** Small numbers, and those where doubles end. */
const amount = fc.oneof(
  fc.nat({ max: 30 }),
  fc.nat({ max: 100_000 }),
  fc.maxSafeNat(),
  fc.constantFrom(0, 1, MAX, MAX - 1, 2 ** 52, 2 ** 52 + 1, 2 ** 32, 94_906_267),
);
const duration = fc.oneof(
  fc.constantFrom(1_000, 60_000, 2_592_000_000),
  fc.integer({ min: 1_000, max: 100_000 }),
  fc.integer({ min: 1_000, max: MAX }),
);

/** A time, and a counter and held budget in windows around it. */
const cases = fc
  .record({
    duration,
    now: fc.oneof(fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }), fc.integer({ min: 100_000, max: 8_000_000_000_000 })),
    stored: fc.option(fc.record({ ago: fc.constantFrom(0, 0, 1, 1, 2, 5, -1, -2, -60, -61, -1_000), current: amount, previous: amount })),
    held: fc.oneof(fc.constant(0), amount),
    heldAgo: fc.constantFrom(0, 0, 1, 2, -1, -60),
    limit: amount,
    cost: amount,
    need: amount,
    chunk: amount,
  })
  .map(({ now, stored, heldAgo, ...rest }) => {
    const seq = Math.floor(now / rest.duration);
    const counter: SharedCounter | null =
      stored && seq >= stored.ago ? { seq: seq - stored.ago, current: stored.current, previous: stored.previous } : null;
    const request: ChargeRequest = { ...rest, now, heldSeq: Math.max(-1, seq - heldAgo), known: undefined };
    return { counter, request };
  });

describeOnCounterServer("the function that decides a charge on the server", () => {
  let process: ServerProcess;
  let server: CounterServer;
  beforeAll(async () => {
    process = await startCounterServer();
    server = await connectCounterServer(process.url, { time: "request" });
  });
  afterAll(async () => {
    await server?.close();
    await process?.[Symbol.asyncDispose]();
  });

  const text = ({ seq, current, previous }: SharedCounter): string => `${seq}:${current}:${previous}`;
  const put = (key: string, counter: SharedCounter): Promise<string> => process.command("SET", `latchkey:{${key}}`, text(counter));
  let keys = 0;

  test("decides as the rule does, whatever the numbers, and stores what that stores", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(cases, { minLength: 1, maxLength: 20 }), async (all) => {
        await Promise.all(
          all.map(async ({ counter, request }) => {
            const key = `charge ${keys++}`;
            if (counter !== null) await put(key, counter);
            const { next, answer } = chargeCounter(counter, request);
            expect(await server.counters.charge(key, request)).toEqual(answer);
            expect(await server.counters.read(key)).toEqual(next ?? counter);
          }),
        );
      }),
      { numRuns: sized(300, 3_000) },
    );
  });

  test("decides one charge after the other on one counter as the rule does", async () => {
    const step = fc.record({
      passed: fc.oneof(fc.nat({ max: 2_000 }), fc.nat({ max: 200_000 }), fc.integer({ min: -90_000, max: 0 })),
      limit: fc.constantFrom(10, 100, 100, MAX),
      cost: fc.constantFrom(1, 1, 2, 30),
      need: fc.nat({ max: 20 }),
      chunk: fc.nat({ max: 20 }),
      keeps: fc.nat({ max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(1_000, 10_000, 60_000), fc.array(step, { minLength: 1, maxLength: 30 }), async (duration, steps) => {
        const key = `steps ${keys++}`;
        let now = 1_750_000_000_000;
        let counter: SharedCounter | null = null;
        let held = 0;
        let heldSeq = -1;
        for (const { passed, keeps, ...size } of steps) {
          now += passed;
          const request: ChargeRequest = { ...size, duration, now, held, heldSeq, known: undefined };
          const { next, answer } = chargeCounter(counter, request);
          expect(await server.counters.charge(key, request)).toEqual(answer);
          counter = next ?? counter;
          expect(await server.counters.read(key)).toEqual(counter);
          if (answer.isGranted) held = Math.min(keeps, held + answer.amount);
          else if (heldSeq !== answer.counter.seq) held = 0;
          heldSeq = answer.counter.seq;
        }
      }),
      { numRuns: sized(100, 1_000) },
    );
  });

  test("gives budget back as the rule does", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 5 }),
        amount,
        amount,
        fc.integer({ min: 0, max: 7 }),
        amount,
        async (seq, current, previous, at, given) => {
          const key = `refund ${keys++}`;
          const counter = { seq, current, previous };
          await put(key, counter);
          await server.counters.refund(key, at, given);
          expect(await server.counters.read(key)).toEqual(refunded(counter, at, given));
        },
      ),
      { numRuns: sized(200, 2_000) },
    );
  });

  test("takes what is no counter under a counter's name for nothing", async () => {
    const request = { duration: 1_000, limit: 5, cost: 1, need: 1, chunk: 0, now: 10_500, held: 0, heldSeq: -1, known: undefined };
    await process.command("SET", "latchkey:{broken}", "gibberish");
    expect(await server.counters.read("broken")).toBeNull();
    expect(await server.counters.charge("broken", request)).toMatchObject({ isGranted: true, amount: 1 });
  });
});
