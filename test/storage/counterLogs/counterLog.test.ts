import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Admission, countExcess } from "../../../bench/limiterRuns/admissions.ts";
import type { Fate } from "../../../bench/limiterRuns/simulation.ts";
import { createLimiter } from "../../../src/ratelimit/limiter.ts";
import type { CounterLogStore } from "../../../src/storage/mongo/counterLogs/counterLogStore.ts";
import type { Counters } from "../../../src/storage/port/counters.ts";
import { sized } from "../../support/sized.ts";
import { LATER, logsInVirtualTime, MINUTE, SEQ, START } from "./logsInVirtualTime.ts";

const cycle = <T>(values: readonly T[], otherwise: T): (() => T) => {
  let next = 0;
  return () => values[next++ % values.length] ?? otherwise;
};

const open = (node: Counters, limit: number, amount = 1): Promise<boolean> =>
  node.open("a", SEQ, limit - amount, amount, LATER).then((counter) => counter !== null);

describe("counters in the logs of nodes", () => {
  test("[design §4] of nodes that claim the last room at the same moment exactly one is granted it, whatever each message takes", async () => {
    const delays = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 5, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 4 }), delays, async (count, times) => {
        const { logs, outcomeOf } = logsInVirtualTime(cycle(times, 1));
        const nodes = Array.from({ length: count }, () => logs.join());
        await outcomeOf(Promise.all(nodes.map((node) => node.read("b"))));
        const granted = await outcomeOf(Promise.all(nodes.map((node) => open(node, 1))));
        expect(granted.filter(Boolean)).toHaveLength(1);
        expect(await outcomeOf(logs.join().read("a"))).toMatchObject({ seq: SEQ, current: 1 });
      }),
      { numRuns: sized(100, 1_000) },
    );
  });

  test("[design §4] a node that grants without a look at the others' logs admits too much: this is what the look is for", async () => {
    const all = logsInVirtualTime();
    const { logs, outcomeOf } = all;
    const blind = {
      ...logs.store,
      look: async (wanted: Parameters<CounterLogStore["look"]>[0]) => ({ ...(await logs.store.look(wanted)), entries: [] }),
    };
    const nodes = [all.joinThrough(blind, MINUTE), all.joinThrough(blind, MINUTE)];
    await outcomeOf(Promise.all(nodes.map((node) => node.read("b"))));
    const granted = await outcomeOf(Promise.all(nodes.map((node) => open(node, 1))));
    expect(granted).toEqual([true, true]);
  });

  test("[design §4] a node that is stopped between its write and its look, for longer than entries stay, grants nothing of it", async () => {
    const all = logsInVirtualTime();
    const { logs, world, outcomeOf } = all;
    let stopped: Promise<unknown> = Promise.resolve();
    let isStopping = false;
    const slow: CounterLogStore = {
      ...logs.store,
      look: async (wanted) => {
        if (isStopping) await stopped;
        return logs.store.look(wanted);
      },
    };
    const [victim, other] = [all.joinThrough(slow, MINUTE), logs.join()];
    await outcomeOf(Promise.all([victim.read("b"), other.read("b")]));
    isStopping = true;
    stopped = world.elapse(20 * MINUTE).then(() => {
      isStopping = false;
    });
    const late = open(victim, 5, 5);
    late.catch(() => undefined);
    await world.passUntil(START + 100);
    expect(await outcomeOf(open(other, 5, 5))).toBe(false);
    // Nobody asks, but the nodes that live go on.
    for (let minute = 1; minute < 19; minute++) {
      await world.passUntil(START + minute * MINUTE);
      await outcomeOf(other.read("b"));
    }
    const seq = Math.floor(world.clock.now() / MINUTE);
    expect(await outcomeOf(other.open("a", seq, 0, 5, LATER))).not.toBeNull();
    expect(await outcomeOf(late.catch(() => false))).toBe(false);
    // It joins again, and knows what was counted meanwhile.
    expect(await outcomeOf(victim.read("a"))).toMatchObject({ seq, current: 5 });
  });

  test("[design §4] what a node had claimed counts when it dies, once, and nothing of it is granted when its answer is lost", async () => {
    let fate: Fate = "works";
    const { logs, outcomeOf } = logsInVirtualTime(undefined, () => fate);
    const [one, other] = [logs.join(), logs.join()];
    await outcomeOf(Promise.all([one.read("b"), other.read("b")]));
    fate = "answer lost";
    const lost = open(one, 10, 4);
    await expect(outcomeOf(lost)).rejects.toMatchObject({ name: "StoreUnavailableError", outcomeUnknown: true });
    fate = "works";
    expect(await outcomeOf(other.read("a"))).toMatchObject({ current: 4 });
    // The one that lost it has joined anew, and counts it as well.
    expect(await outcomeOf(one.charge("a", SEQ, 4, 6))).toMatchObject({ current: 10 });
    expect(await outcomeOf(other.charge("a", SEQ, 9, 1))).toBeNull();
  });

  test("[design §4] together nodes never admit more than the formula, whoever joins, fails, stops for minutes or leaves", async () => {
    const step = fc.record({
      wait: fc.constantFrom(0, 1, 3, 10, 40, 200, 1_000, 20_000),
      node: fc.nat({ max: 4 }),
      cost: fc.constantFrom(1, 1, 2, 5),
      event: fc.constantFrom("call", "call", "call", "call", "call", "call", "join", "stop", "go on", "leave"),
    });
    const course = fc.record({
      limit: fc.constantFrom(1, 5, 20, 100),
      steps: fc.array(step, { minLength: 20, maxLength: 150 }),
      delays: fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 40 }),
      fates: fc.array(fc.constantFrom<Fate>("works", "works", "works", "works", "works", "works", "not sent", "answer lost"), {
        minLength: 1,
        maxLength: 30,
      }),
    });
    await fc.assert(
      fc.asyncProperty(course, async ({ limit, steps, delays, fates }) => {
        const all = logsInVirtualTime(cycle(delays, 1), cycle(fates, "works"));
        const { world, logs, outcomeOf } = all;
        /** Of each node: what ends its stop. */
        const stops: { stopped: Promise<void>; goOn: () => void }[] = [];
        const start = () => {
          const own = { stopped: Promise.resolve(), goOn: (): void => undefined };
          stops.push(own);
          // A process that is stopped neither sends nor hears.
          const paused = Object.fromEntries(
            Object.entries(logs.store).map(([name, operation]) => [
              name,
              async (...args: never[]) => {
                await own.stopped;
                const result: unknown = await (operation as (...values: never[]) => Promise<unknown>)(...args);
                await own.stopped;
                return result;
              },
            ]),
          ) as unknown as CounterLogStore;
          return createLimiter({ clock: world.clock, counters: all.joinThrough(paused, MINUTE), storeDown: "deny" });
        };
        const nodes = Array.from({ length: 3 }, start);
        const log: Admission[] = [];
        const running: Promise<unknown>[] = [];
        for (const { wait, node, cost, event } of steps) {
          await world.passUntil(world.clock.now() + wait);
          const at = node % nodes.length;
          const stop = stops[at];
          const limiter = nodes[at];
          if (event === "join") nodes.push(start());
          if (event === "stop" && stop) {
            stop.goOn();
            const { promise, resolve } = Promise.withResolvers<void>();
            stop.stopped = promise;
            stop.goOn = resolve;
          }
          if (event === "go on") stop?.goOn();
          if (event === "leave") void limiter?.stop();
          if (event !== "call" || limiter === undefined) continue;
          const asked = Promise.resolve(limiter.check([{ key: "shared", limit, duration: 1_000, cost }], world.clock.now())).then(
            ({ passed, results: [result] }) => {
              const reset = result?.reset ?? 0;
              if (passed) log.push({ seq: reset / 1_000 - 1, at: Math.min(world.clock.now(), reset - 1), cost });
            },
          );
          running.push(asked);
          await world.settle();
        }
        for (const { goOn } of stops) goOn();
        await outcomeOf(Promise.all(running));
        expect(countExcess(log, limit, 1_000)).toBe(0);
      }),
      { numRuns: sized(60, 600) },
    );
  }, 600_000);

  test("a node that nobody asks stays one of them, and one that is gone is not looked for any more; what has no weight is removed", async () => {
    const all = logsInVirtualTime();
    const { logs, world, outcomeOf } = all;
    const dead = Promise.withResolvers<never>();
    let isDead = false;
    const { append } = logs.store;
    const dying = { ...logs.store, append: (entry: Parameters<typeof append>[0]) => (isDead ? dead.promise : append(entry)) };
    const [gone, idle, busy] = [all.joinThrough(dying, MINUTE), logs.join(), logs.join()];
    for (const node of [gone, idle, busy]) await outcomeOf(node.read("b"));
    expect(logs.members()).toHaveLength(3);
    expect(await outcomeOf(open(gone, 9))).toBe(true);
    isDead = true;
    const goOn = async (from: number, until: number): Promise<void> => {
      for (let second = from; second < until; second += 5) {
        await world.passUntil(START + second * 1_000);
        await outcomeOf(idle.read("a"));
        await outcomeOf(busy.open(`k${second}`, SEQ + second, 9, 1, LATER));
      }
    };
    await goOn(5, 120);
    expect(logs.members().map(({ retiredAt }) => retiredAt !== undefined)).toEqual([true, false, false]);
    await goOn(120, 30 * 60);
    expect(logs.members().map(({ ordinal }) => ordinal)).toEqual([2, 3]);
    expect(logs.entries()).toBeLessThan(2 * 12 * 6);
  });

  test("[ratelimit §3] what a clock counted that was set back since belongs to the window that it is now", async () => {
    const { logs, outcomeOf } = logsInVirtualTime();
    const [one, other] = [logs.join(), logs.join()];
    const ahead = { seq: SEQ + 60, current: 3, previous: 2 };
    await outcomeOf(one.open("a", ahead.seq - 1, 9, 2, LATER));
    expect(await outcomeOf(one.roll("a", { seq: ahead.seq - 1, current: 2, previous: 0 }, ahead, LATER))).toBe(true);
    // Whoever finds it so sets it back, is told to read it again, and finds what all windows had counted.
    expect(await outcomeOf(other.roll("a", ahead, { seq: SEQ, current: 5, previous: 0 }, LATER))).toBe(false);
    expect(await outcomeOf(other.read("a"))).toEqual({ seq: SEQ, current: 5, previous: 0 });
    expect(await outcomeOf(one.read("a"))).toEqual({ seq: SEQ, current: 5, previous: 0 });
  });

  test("claims of more text than an entry has leave with several, and all are answered", async () => {
    const { logs, outcomeOf } = logsInVirtualTime();
    const node = logs.join();
    const keys = Array.from({ length: 300 }, (_, i) => `${"𝒰".repeat(900)}${i}`);
    const opened = await outcomeOf(Promise.all(keys.map((key) => node.open(key, SEQ, 9, 1, LATER))));
    expect(opened.every((counter) => counter?.current === 1)).toBe(true);
    expect(logs.longestEntry()).toBeLessThan(100_000);
  });
});
