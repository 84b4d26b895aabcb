import { type Clock, systemClock } from "../../src/domain/clock.ts";
import { createCounterLog } from "../../src/storage/mongo/counterLogs/counterLog.ts";
import type { CounterLogEntry, CounterLogMember, CounterLogStore } from "../../src/storage/mongo/counterLogs/counterLogStore.ts";
import { loggedCounters } from "../../src/storage/mongo/counterLogs/loggedCounters.ts";
import { createWindowCounts } from "../../src/storage/mongo/counterLogs/windowCounts.ts";
import type { Counters, SharedCounter } from "../../src/storage/port/counters.ts";
import { byTimer, type SimulationOptions, simulatedOperations } from "./simulation.ts";

export interface SimulatedLogsOptions extends Pick<SimulationOptions, "latency" | "fate" | "travel"> {
  readonly clock?: Clock;
}

export interface SimulatedLogs {
  readonly store: CounterLogStore;
  /** The counters of another node. */
  readonly join: (clock?: Clock) => Counters;
  /** What all logs together say. */
  readonly peek: (key: string) => SharedCounter | undefined;
  /** Operations so far. */
  readonly operations: () => number;
  readonly members: () => readonly CounterLogMember[];
  /** How many there are now. */
  readonly entries: () => number;
  /** Bytes of the keys that one entry had at most. */
  readonly longestEntry: () => number;
}

/** The logs of nodes in a store that answers after random delays. */
export const simulatedLogs = (options: SimulatedLogsOptions): SimulatedLogs => {
  const { clock = systemClock, travel = byTimer } = options;
  const members = new Map<number, CounterLogMember>();
  const entries = new Map<string, CounterLogEntry>();
  const { operate, operations } = simulatedOperations(options);
  let longest = 0;

  const ofLog = (log: string): CounterLogEntry[] =>
    [...entries.values()].filter((entry) => entry.log === log).sort((a, b) => a.number - b.number);

  const store: CounterLogStore = {
    members: () => operate(() => [...members.values()].sort((a, b) => a.ordinal - b.ordinal)),
    join: (member) =>
      operate(() => {
        if (members.has(member.ordinal)) return false;
        members.set(member.ordinal, { ...member });
        return true;
      }),
    retire: (ordinal, at) =>
      operate(() => {
        const member = members.get(ordinal);
        if (member && member.retiredAt === undefined) members.set(ordinal, { ...member, retiredAt: at });
      }),
    append: (entry) =>
      operate(() => {
        entries.set(`${entry.log}/${entry.number}`, entry);
        longest = Math.max(longest, Buffer.byteLength(entry.changes.map(({ key }) => key).join()));
      }),
    look: (wanted) =>
      operate(() => ({
        members: wanted.members.flatMap((ordinal) => members.get(ordinal) ?? []),
        entries: wanted.entries.flatMap(({ log, number }) => entries.get(`${log}/${number}`) ?? []),
      })),
    page: (log, after) =>
      operate(() =>
        ofLog(log)
          .filter(({ number }) => number > after)
          .slice(0, 100),
      ),
    trim: (log, before) =>
      operate(() => {
        for (const { number } of ofLog(log)) if (number < before) entries.delete(`${log}/${number}`);
      }),
    remove: ({ ordinal, log }) =>
      operate(() => {
        for (const { number } of ofLog(log)) entries.delete(`${log}/${number}`);
        members.delete(ordinal);
      }),
  };

  return {
    store,
    join: (own = clock) => loggedCounters(createCounterLog({ store, clock: own, patience: 60_000, pause: travel }), own),
    peek: (key) => {
      const counts = createWindowCounts();
      for (const { changes } of entries.values()) for (const change of changes) counts.apply(change);
      return counts.get(key);
    },
    operations,
    members: () => [...members.values()],
    entries: () => entries.size,
    longestEntry: () => longest,
  };
};
