import { describe, expect, test } from "vitest";
import type { Fate } from "../../../bench/limiterRuns/simulation.ts";
import type { VirtualWorld } from "../../../bench/limiterRuns/virtualWorld.ts";
import { createLimiter } from "../../../src/ratelimit/limiter.ts";
import { createCounterLog } from "../../../src/storage/mongo/counterLogs/counterLog.ts";
import type { CounterLogStore } from "../../../src/storage/mongo/counterLogs/counterLogStore.ts";
import { loggedCounters } from "../../../src/storage/mongo/counterLogs/loggedCounters.ts";
import type { Counters, SharedCounter } from "../../../src/storage/port/counters.ts";
import { StoreUnavailableError } from "../../../src/storage/port/errors.ts";
import { sized } from "../../support/sized.ts";
import { LATER, logsInVirtualTime, MINUTE, SEQ, START } from "./logsInVirtualTime.ts";

const isSettled = async (world: VirtualWorld, promise: Promise<unknown>, within: number): Promise<boolean> => {
  let settled = false;
  promise.then(
    () => {
      settled = true;
    },
    () => {
      settled = true;
    },
  );
  const until = world.clock.now() + within;
  while (!settled && world.clock.now() < until) {
    await world.settle();
    await world.passUntil(world.clock.now() + 1);
  }
  await world.settle();
  return settled;
};

describe("counters in the logs of nodes, when something is amiss", () => {
  test("[ratelimit §3] what goes back of a window that a clock was set back from takes nothing from those since", async () => {
    const { logs, outcomeOf } = logsInVirtualTime();
    const [ahead, other] = [logs.join(), logs.join()];
    const F = SEQ + 60;
    await outcomeOf(ahead.open("a", F, 9, 3, LATER));
    const seen = await outcomeOf(other.read("a"));
    await outcomeOf(other.roll("a", seen as SharedCounter, { seq: SEQ, current: 3, previous: 0 }, LATER));
    // The limit of 10 is used up in the window that it is.
    expect(await outcomeOf(other.charge("a", SEQ, 3, 7))).toMatchObject({ current: 10 });
    // What the node that was ahead still held goes back.
    await outcomeOf(ahead.refund("a", F, 2));
    expect(await outcomeOf(other.read("a"))).toMatchObject({ seq: SEQ, current: 10 });
  });

  test.each([10, 60])("a read of a counter that %i nodes charge some times a second ends", async (count) => {
    const { logs, world, outcomeOf } = logsInVirtualTime(() => 2);
    const nodes = Array.from({ length: count }, () => logs.join());
    await outcomeOf(Promise.all(nodes.map((node) => node.read("b"))));
    const first = nodes[0] as Counters;
    await outcomeOf(first.open("a", SEQ, 1e9, 1, LATER));
    let isOver = false;
    // Each charges the key every 200 ms, which is how long a chunk lasts.
    const charging = nodes.slice(1).map(async (node, i) => {
      await world.elapse((i * 200) / count);
      while (!isOver) {
        await node.charge("a", SEQ, 1e9, 1);
        await world.elapse(200);
      }
    });
    await world.passUntil(world.clock.now() + 1_000);
    const begun = world.clock.now();
    const done = await isSettled(world, Promise.resolve(first.read("a")), 5_000);
    isOver = true;
    await outcomeOf(Promise.all(charging));
    expect(done).toBe(true);
    expect(world.clock.now() - begun).toBeLessThan(1_000);
  });

  test("a claim that does not fit is answered although a later member goes on charging the counter", async () => {
    const { logs, world, outcomeOf } = logsInVirtualTime(() => 2);
    const [early, late] = [logs.join(), logs.join()];
    await outcomeOf(early.read("b"));
    await outcomeOf(late.read("b"));
    await outcomeOf(late.open("a", SEQ, 1e9, 1, LATER));
    await outcomeOf(early.read("a"));
    let isOver = false;
    const charging = (async () => {
      while (!isOver) {
        await late.charge("a", SEQ, 1e9, 1);
      }
    })();
    await world.passUntil(world.clock.now() + 40);
    // Fits as far as is known, but no longer when it is appended.
    const { current } = logs.peek("a") as SharedCounter;
    const asked = early.charge("a", SEQ, current, 1);
    const done = await isSettled(world, asked, 20_000);
    isOver = true;
    await outcomeOf(charging);
    await world.passUntil(world.clock.now() + 100);
    expect(done).toBe(true);
  });

  test("[design §4] after it has joined anew a node denies nothing that fits", async () => {
    let fate: Fate = "works";
    const { world, logs, outcomeOf, joinThrough } = logsInVirtualTime(undefined, () => fate);
    const limiter = createLimiter({ clock: world.clock, counters: joinThrough(logs.store), storeDown: "deny" });
    const check = (key: string, cost: number) => outcomeOf(limiter.check([{ key, limit: 10, duration: MINUTE, cost }], world.clock.now()));
    expect(await check("a", 10)).toMatchObject({ passed: true });
    // Half of the next window is over: 5 weigh.
    await world.passUntil(START + 1.5 * MINUTE);
    expect(await check("a", 1)).toMatchObject({ passed: true });
    fate = "answer lost";
    await check("b", 1);
    fate = "works";
    await world.passUntil(world.clock.now() + 100);
    expect(await check("a", 1)).toMatchObject({ passed: true });
  });

  test("what was asked meanwhile is answered although what is old cannot be removed", async () => {
    const { world, logs, outcomeOf, joinThrough } = logsInVirtualTime();
    let fails = false;
    const store: CounterLogStore = {
      ...logs.store,
      members: async () => {
        if (!fails) return logs.store.members();
        await world.elapse(2_500);
        throw new StoreUnavailableError("too slow", { tooSlow: true });
      },
    };
    const node = joinThrough(store);
    await outcomeOf(node.open("a", SEQ, 9, 1, LATER));
    fails = true;
    await world.passUntil(START + 11_000);
    await outcomeOf(node.open("b", SEQ, 9, 1, LATER));
    const begun = world.clock.now();
    // Sent while it tidies up.
    const asked = node.open("c", SEQ, 9, 1, LATER);
    await expect(outcomeOf(asked)).resolves.toMatchObject({ current: 1 });
    expect(world.clock.now() - begun).toBeLessThan(100);
  });

  test("what is asked while a node joins, which takes long, is answered within its patience", async () => {
    const { world, logs, joinThrough } = logsInVirtualTime();
    const store: CounterLogStore = {
      ...logs.store,
      members: async () => {
        await world.elapse(60_000);
        return logs.store.members();
      },
    };
    const node = joinThrough(store);
    expect(await isSettled(world, node.open("a", SEQ, 9, 1, LATER), 10_000)).toBe(true);
  });

  test("a node that takes longer to join than it may be blind joins at all, and once", async () => {
    const { world, logs, outcomeOf, joinThrough } = logsInVirtualTime();
    const before = logs.join();
    await outcomeOf(before.open("a", SEQ, 9, 1, LATER));
    // Twenty pages of 5 s: many nodes, and what they had counted in four minutes.
    const store: CounterLogStore = {
      ...logs.store,
      page: async (log, after) => {
        await world.elapse(90_000);
        return logs.store.page(log, after);
      },
    };
    const node = joinThrough(store);
    const asked = Promise.resolve(node.read("a"));
    // The other one goes on.
    let isOver = false;
    const heart = (async () => {
      while (!isOver) {
        await world.elapse(5_000);
        await before.read("b");
      }
    })();
    const settled = await isSettled(world, asked, 60 * MINUTE);
    isOver = true;
    await outcomeOf(heart);
    expect(settled).toBe(true);
  }, 120_000);

  test.each(sized([40], [10, 20, 40, 80]))(
    "[ratelimit §13] where a message takes up to %i ms, of a burst at least 95 in 100 pass",
    async (slow) => {
      let worst = 1;
      for (let round = 0; round < 12; round++) {
        let n = round * 7919;
        const random = () => {
          n = (n * 1_103_515_245 + 12_345) % 2_147_483_648;
          return n / 2_147_483_648;
        };
        const { world, logs, outcomeOf } = logsInVirtualTime(() => Math.ceil(slow * (0.5 + random() / 2)));
        const nodes = Array.from({ length: 2 + (round % 4) }, () =>
          createLimiter({ clock: world.clock, counters: logs.join(), storeDown: "deny" }),
        );
        const limit = [10, 20, 50, 100][round % 4] ?? 10;
        const calls = Array.from({ length: limit * 3 }, async (_, i) => {
          await world.elapse(i);
          return nodes[i % nodes.length]?.check([{ key: "a", limit, duration: 43_200 * MINUTE, cost: 1 }], world.clock.now());
        });
        const passed = (await outcomeOf(Promise.all(calls))).filter((decision) => decision?.passed).length;
        expect(passed).toBeLessThanOrEqual(limit);
        worst = Math.min(worst, passed / limit);
      }
      expect(worst).toBeGreaterThanOrEqual(0.95);
    },
    60_000,
  );

  test("a node that is opened and not asked for two minutes stays a member", async () => {
    const { world, logs, outcomeOf } = logsInVirtualTime();
    const log = createCounterLog({ store: logs.store, clock: world.clock, patience: 2_500, pause: world.elapse });
    await outcomeOf(log.open());
    const other = logs.join();
    for (let second = 0; second < 120; second += 5) {
      await world.passUntil(START + second * 1_000);
      await outcomeOf(other.read("b"));
    }
    expect(logs.members()[0]?.retiredAt).toBeUndefined();
  });

  test.each([
    { limit: 1_000, every: 1 },
    { limit: 100, every: 5 },
  ])("calls and reads of one limit of $limit a second that five nodes use up are answered within a second", async ({ limit, every }) => {
    const { world, logs, outcomeOf } = logsInVirtualTime(() => 2);
    const nodes = Array.from({ length: 5 }, () => createLimiter({ clock: world.clock, counters: logs.join(), storeDown: "deny" }));
    const check = { key: "a", limit, duration: 1_000, cost: 1 };
    const timed = async (asked: () => unknown): Promise<number> => {
      const begun = world.clock.now();
      await asked();
      return world.clock.now() - begun;
    };
    const calls = Array.from({ length: 4_000 / every }, async (_, i) => {
      await world.elapse(i * every);
      return timed(() => nodes[i % 5]?.check([check], world.clock.now()));
    });
    const reads = Array.from({ length: 60 }, async (_, i) => {
      await world.elapse(i * 61);
      return timed(() => nodes[i % 5]?.peek([check]));
    });
    for (const asked of [calls, reads]) {
      const took = (await outcomeOf(Promise.all(asked))).sort((a, b) => a - b);
      expect(took[Math.floor(0.99 * took.length)]).toBeLessThan(1_000);
    }
  });

  test("a store that is away for minutes leaves no trace of the attempts to reach it", async () => {
    let fate: Fate = "works";
    const { logs, world, outcomeOf } = logsInVirtualTime(undefined, () => fate);
    const node = logs.join();
    await outcomeOf(node.open("a", SEQ, 9, 1, LATER));
    fate = "not sent";
    for (let second = 0; second < 120; second++) {
      await outcomeOf(Promise.resolve(node.open("b", SEQ, 9, 1, LATER)).catch(() => undefined));
      await world.passUntil(world.clock.now() + 1_000);
    }
    fate = "works";
    const before = logs.operations();
    expect(await outcomeOf(node.charge("a", SEQ, 9, 1))).toMatchObject({ current: 2 });
    expect(logs.operations() - before).toBeLessThan(12);
    expect(logs.members()).toHaveLength(2);
  });

  test("[design §4] a node that was frozen until the others took leave of it takes back nothing that they never counted", async () => {
    const { logs, world, outcomeOf } = logsInVirtualTime();
    let frozen: Promise<void> | undefined;
    const pause = async (milliseconds: number): Promise<void> => {
      await world.elapse(milliseconds);
      await frozen;
    };
    const thawed = Promise.withResolvers<void>();
    const victim = loggedCounters(createCounterLog({ store: logs.store, clock: world.clock, patience: 2_500, pause }), world.clock);
    const other = logs.join();
    await outcomeOf(Promise.all([victim.read("b"), other.read("b")]));
    frozen = thawed.promise;
    for (let second = 5; second <= 90; second += 5) {
      await world.passUntil(START + second * 1_000);
      await outcomeOf(other.read("b"));
    }
    expect(logs.members()[0]?.retiredAt).toBeDefined();
    const seq = SEQ + 1;
    let granted = 0;
    const counted = async (amount: number, asked: Promise<SharedCounter | null>): Promise<void> => {
      if ((await outcomeOf(asked)) !== null) granted += amount;
    };
    await counted(3, other.open("a", seq, 7, 3, LATER));
    frozen = undefined;
    thawed.resolve();
    await counted(5, victim.open("a", seq, 5, 5, LATER));
    for (let i = 0; i < 7; i++) await counted(1, other.charge("a", seq, 9, 1));
    expect(granted).toBeLessThanOrEqual(10);
  });
});
