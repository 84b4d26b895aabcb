import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createStoreClock } from "../../src/platform/storage/storeClock.ts";

const START = 1_750_000_000_000;

/** A machine whose wall clock is wrong, and a server that is right, asked over a way that takes its time. */
const scene = () => {
  let elapsed = 0;
  let suspended = 0;
  let jumped = 0;
  const local = { now: () => START + 600_000 + elapsed + suspended, monotonic: () => 5_000 + elapsed };
  const serverTime = () => START + elapsed + suspended + jumped;
  const clock = createStoreClock(local);
  return {
    clock,
    local,
    serverTime,
    advance: (milliseconds: number) => {
      elapsed += milliseconds;
    },
    /** Time passes that this machine's monotonic time does not count. */
    suspend: (milliseconds: number) => {
      suspended += milliseconds;
    },
    /** Another server answers from now on, or this one's clock was set. */
    jump: (milliseconds: number) => {
      jumped += milliseconds;
    },
    /** @param there milliseconds to the server, `back` from it. */
    look: (there = 1, back = 1) => {
      const askedAt = local.monotonic();
      elapsed += there;
      const time = Math.floor(serverTime());
      elapsed += back;
      clock.learn({ time, askedAt, answeredAt: local.monotonic() });
    },
  };
};

describe("the store's clock", () => {
  test("is this machine's before the first look, and says that it knows nothing", () => {
    const { clock, local } = scene();
    expect(clock.now()).toBe(local.now());
    expect(clock.uncertainty()).toBe(Number.POSITIVE_INFINITY);
  });

  test("uses the server's time, whatever this machine's says, within the uncertainty that it reports", () => {
    const { clock, look, advance, serverTime } = scene();
    look(3, 5);
    expect(clock.uncertainty()).toBeLessThanOrEqual(9);
    for (let i = 0; i < 100; i++) {
      advance(97);
      expect(Math.abs(clock.now() - serverTime())).toBeLessThanOrEqual(clock.uncertainty() + 1);
    }
  });

  test("is never ahead of the server's, whichever way took long", () => {
    for (const [there, back] of [
      [0, 200],
      [200, 0],
      [90, 110],
    ] as const) {
      const { clock, look, advance, serverTime } = scene();
      for (let i = 0; i < 20; i++) {
        look(there, back);
        expect(clock.now()).toBeLessThanOrEqual(serverTime());
        expect(clock.now()).toBeGreaterThanOrEqual(serverTime() - clock.uncertainty() - 1);
        advance(977);
        expect(clock.now()).toBeLessThanOrEqual(serverTime());
      }
    }
  });

  test("uses the most exact of the last eight readings", () => {
    const { clock, look, advance, serverTime } = scene();
    look(0, 0);
    for (let i = 0; i < 7; i++) {
      advance(1_000);
      look(0, 400);
      expect(clock.uncertainty()).toBeLessThan(3);
      expect(Math.abs(clock.now() - serverTime())).toBeLessThanOrEqual(1);
    }
    advance(1_000);
    look(0, 400);
    expect(clock.uncertainty()).toBeGreaterThan(200);
  });

  test("goes ahead at once when the server's does, as after a failover or while this machine was suspended", () => {
    for (const event of ["jump", "suspend"] as const) {
      const made = scene();
      for (let i = 0; i < 8; i++) made.look();
      made[event](300_000);
      made.look(2, 2);
      expect(Math.abs(made.clock.now() - made.serverTime())).toBeLessThanOrEqual(3);
    }
  });

  test("never goes back or stops when the server's is behind, and approaches it at half its speed", () => {
    const { clock, look, advance, jump, serverTime } = scene();
    for (let i = 0; i < 8; i++) look();
    jump(-10_000);
    let before = clock.now();
    for (let i = 0; i < 19; i++) {
      advance(998);
      look();
      const now = clock.now();
      expect(now - before).toBeGreaterThanOrEqual(498);
      expect(now).toBeGreaterThan(serverTime());
      before = now;
    }
    advance(3_000);
    expect(Math.abs(clock.now() - serverTime())).toBeLessThanOrEqual(2);
  });

  test("never goes back, whatever happens", () => {
    const delay = fc.integer({ min: 0, max: 2_000 });
    const event = fc.oneof(
      fc.record({ kind: fc.constant("look" as const), there: delay, back: delay }),
      fc.record({ kind: fc.constantFrom("jump" as const), by: fc.integer({ min: -600_000, max: 600_000 }) }),
      fc.record({ kind: fc.constantFrom("advance" as const, "suspend" as const), by: fc.integer({ min: 0, max: 60_000 }) }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const made = scene();
        made.look();
        let before = made.clock.now();
        for (const each of events) {
          if (each.kind === "look") made.look(each.there, each.back);
          else made[each.kind](each.by);
          const now = made.clock.now();
          expect(now).toBeGreaterThanOrEqual(before);
          before = now;
        }
      }),
    );
  });
});
