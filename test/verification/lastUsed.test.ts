import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLastUsed, type LastUsed } from "../../src/features/verification/lastUsed.ts";
import type { Clock } from "../../src/platform/base/clock.ts";

const MINUTE = 60_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Bench {
  readonly lastUsed: LastUsed;
  /** Every write so far, as `[id, time]` pairs. */
  readonly writes: (readonly [string, number])[][];
  readonly errors: unknown[];
  /** Both times move on in steps of a second, and the timers with them. */
  readonly pass: (milliseconds: number) => Promise<void>;
  readonly turn: (now: number) => void;
  readonly now: () => number;
  behave: (times: ReadonlyMap<string, number>) => Promise<void>;
}

const bench = (): Bench => {
  let wall = 1_750_000_000_000;
  let monotonic = 0;
  const clock: Clock = { now: () => wall, monotonic: () => monotonic };
  const made: Omit<Bench, "lastUsed"> = {
    writes: [],
    errors: [],
    pass: async (milliseconds) => {
      for (let passed = 0; passed < milliseconds; passed += 1_000) {
        wall += 1_000;
        monotonic += 1_000;
        await vi.advanceTimersByTimeAsync(1_000);
      }
    },
    turn: (now) => {
      wall = now;
    },
    now: () => wall,
    behave: async () => undefined,
  };
  const lastUsed = createLastUsed({
    clock,
    write: async (times) => {
      await made.behave(times);
      made.writes.push([...times]);
    },
    onError: (error) => made.errors.push(error),
  });
  lastUsed.start();
  return Object.assign(made, { lastUsed });
};

describe("[verify §10] lastUsedAt", () => {
  test("is written behind: not with the use, soon after it, and the latest use counts", async () => {
    const { lastUsed, writes, pass, now } = bench();
    lastUsed.mark("a", now());
    await pass(1_000);
    const latest = now();
    lastUsed.mark("a", latest);
    lastUsed.mark("a", latest - 500);
    expect(writes).toEqual([]);
    await pass(10_000);
    expect(writes).toEqual([[["a", latest]]]);
  });

  test("a key that is used all the time is written once a minute", async () => {
    const { lastUsed, writes, pass, now } = bench();
    for (let second = 0; second < 600; second++) {
      lastUsed.mark("a", now());
      await pass(1_000);
    }
    const times = writes.map(([entry]) => entry?.[1] ?? 0);
    expect(times.length).toBeGreaterThanOrEqual(9);
    expect(times.length).toBeLessThanOrEqual(11);
    for (const [i, time] of times.slice(1).entries()) expect(time - (times[i] ?? 0)).toBeGreaterThanOrEqual(MINUTE);
  });

  test("the last use of a minute is not forgotten when no other follows", async () => {
    const { lastUsed, writes, pass, now } = bench();
    lastUsed.mark("a", now());
    await pass(10_000);
    const last = now();
    lastUsed.mark("a", last);
    await pass(30_000);
    expect(writes).toHaveLength(1);
    await pass(2 * MINUTE);
    expect(writes.slice(1)).toEqual([[["a", last]]]);
  });

  test("a key that is not used is not written again", async () => {
    const { lastUsed, writes, pass, now } = bench();
    lastUsed.mark("a", now());
    await pass(10 * MINUTE);
    expect(writes).toHaveLength(1);
  });

  test("a wall clock that is turned, forth or back, makes it write neither more often nor less", async () => {
    const { lastUsed, writes, pass, now, turn } = bench();
    const present = now();
    for (let round = 0; round < 60; round++) {
      turn(round % 2 === 0 ? present + 365 * 24 * 60 * MINUTE + round : present - round * MINUTE);
      lastUsed.mark("a", now());
      await pass(1_000);
    }
    expect(writes).toHaveLength(1);
    await pass(MINUTE);
    expect(writes).toHaveLength(2);
    expect(writes[1]?.[0]?.[1]).toBe(present + 365 * 24 * 60 * MINUTE + 58);
  });

  test("a write that failed is tried again, with the latest use", async () => {
    const made = bench();
    const { lastUsed, writes, errors, pass, now } = made;
    made.behave = () => Promise.reject(new Error("the store is away"));
    lastUsed.mark("a", now());
    await pass(20_000);
    lastUsed.mark("a", now());
    const latest = now();
    expect(writes).toEqual([]);
    expect(errors.length).toBeGreaterThan(1);
    made.behave = async () => undefined;
    await pass(10_000);
    expect(writes).toEqual([[["a", latest]]]);
  });

  test("a use that comes while the key is written is for the next write", async () => {
    const made = bench();
    const { lastUsed, writes, pass, now } = made;
    const written = Promise.withResolvers<void>();
    made.behave = () => written.promise;
    lastUsed.mark("a", now());
    await pass(10_000);
    const latest = now();
    lastUsed.mark("a", latest);
    written.resolve();
    await pass(MINUTE + 10_000);
    expect(writes.map((entries) => entries[0]?.[1])).toEqual([latest - 10_000, latest]);
  });

  test("many keys are written in parts of 500, all with one flush, each once", async () => {
    const { lastUsed, writes, pass, now } = bench();
    const ids = Array.from({ length: 1_700 }, (_, i) => `key_${i}`);
    for (const id of ids) lastUsed.mark(id, now());
    await pass(5_000);
    expect(writes.map(({ length }) => length)).toEqual([500, 500, 500, 200]);
    expect(writes.flat().map(([id]) => id)).toEqual(ids);
    await pass(10 * MINUTE);
    expect(writes).toHaveLength(4);
  });

  test("a part that failed keeps back no other one for good", async () => {
    const made = bench();
    const { lastUsed, writes, pass, now } = made;
    for (let i = 0; i < 1_000; i++) lastUsed.mark(`key_${i}`, now());
    let calls = 0;
    made.behave = async () => {
      if (++calls === 2) throw new Error("once");
    };
    await pass(10_000);
    expect(writes.map(({ length }) => length)).toEqual([500, 500]);
    expect(new Set(writes.flat().map(([id]) => id)).size).toBe(1_000);
  });

  test("a stop writes what is not written yet, also of keys that were written a moment ago, and then is done", async () => {
    const { lastUsed, writes, pass, now } = bench();
    lastUsed.mark("a", now());
    await pass(5_000);
    const latest = now() + 1;
    lastUsed.mark("a", latest);
    lastUsed.mark("b", latest);
    await lastUsed.stop();
    expect(writes.slice(1)).toEqual([
      [
        ["a", latest],
        ["b", latest],
      ],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a stop waits for the write that runs, and starts no further timer", async () => {
    const made = bench();
    const { lastUsed, writes, pass, now } = made;
    const written = Promise.withResolvers<void>();
    made.behave = () => written.promise;
    lastUsed.mark("a", now());
    await pass(5_000);
    let stopped = false;
    const stopping = lastUsed.stop().then(() => {
      stopped = true;
    });
    await vi.advanceTimersByTimeAsync(10_000);
    expect({ stopped, writes }).toEqual({ stopped: false, writes: [] });
    written.resolve();
    await stopping;
    expect(writes).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a stop without a store ends, and says what went wrong", async () => {
    const made = bench();
    made.behave = () => Promise.reject(new Error("the store is away"));
    made.lastUsed.mark("a", made.now());
    await made.lastUsed.stop();
    expect(made.errors).toEqual([new Error("the store is away")]);
  });

  test("one that was never started stops as well", async () => {
    const clock: Clock = { now: () => 1, monotonic: () => 1 };
    const write = vi.fn(async () => undefined);
    const lastUsed = createLastUsed({ clock, write });
    lastUsed.mark("a", 1);
    await lastUsed.stop();
    expect(write).toHaveBeenCalledOnce();
  });
});
