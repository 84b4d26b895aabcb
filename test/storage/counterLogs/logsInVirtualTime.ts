import { type SimulatedLogs, simulatedLogs } from "../../../bench/limiterRuns/simulatedLogs.ts";
import type { Fate } from "../../../bench/limiterRuns/simulation.ts";
import { createVirtualWorld, type VirtualWorld } from "../../../bench/limiterRuns/virtualWorld.ts";
import { createCounterLog } from "../../../src/storage/mongo/counterLogs/counterLog.ts";
import type { CounterLogStore } from "../../../src/storage/mongo/counterLogs/counterLogStore.ts";
import { loggedCounters } from "../../../src/storage/mongo/counterLogs/loggedCounters.ts";
import type { Counters } from "../../../src/storage/port/counters.ts";

/** Where its time begins, Unix ms: with a minute. */
export const START: number = 675 * 2_592_000_000;
export const MINUTE = 60_000;
/** The window of a minute that it begins with. */
export const SEQ: number = START / MINUTE;
/** When counters of these tests are of no more use. */
export const LATER: Date = new Date(START + 10 * MINUTE);

export interface LogsInVirtualTime {
  readonly world: VirtualWorld;
  readonly logs: SimulatedLogs;
  /** Lets time pass until it is settled. */
  readonly outcomeOf: <T>(asked: T | Promise<T>) => Promise<T>;
  /** A node that only believes what it is told by its own store, and waits for that for `patience` milliseconds. */
  readonly joinThrough: (store: CounterLogStore, patience?: number) => Counters;
}

/** Logs of nodes in a world whose time passes when a test waits. `latency` is what each message takes, in milliseconds. */
export const logsInVirtualTime = (latency: () => number = () => 1, fate?: () => Fate): LogsInVirtualTime => {
  const world = createVirtualWorld(START);
  const logs = simulatedLogs({ latency, travel: world.elapse, clock: world.clock, ...(fate && { fate }) });
  return {
    world,
    logs,
    outcomeOf: async (asked) => {
      let isDone = false;
      const done = Promise.resolve(asked).finally(() => {
        isDone = true;
      });
      done.catch(() => undefined);
      for (await world.settle(); !isDone; await world.settle()) {
        await world.settle();
        await world.passUntil(world.clock.now() + 1);
      }
      return done;
    },
    joinThrough: (store, patience = 2_500) =>
      loggedCounters(createCounterLog({ store, clock: world.clock, patience, pause: world.elapse }), world.clock),
  };
};
