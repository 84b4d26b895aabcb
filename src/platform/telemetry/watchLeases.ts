import type { Clock } from "../base/clock.ts";
import type { LeasesRepository } from "../storage/repositories/leasesRepository.ts";
import type { Sample } from "./series.ts";

/** Leases, and which of them this node holds: 1 until the time of one is over or it is given back. */
export interface WatchedLeases {
  readonly leases: LeasesRepository;
  readonly held: () => readonly Sample[];
}

/** The same leases; whoever takes one through them is known to hold it. */
export const watchLeases = (leases: LeasesRepository, clock: Pick<Clock, "monotonic">): WatchedLeases => {
  /** Monotonic ms until which each is held. */
  const until = new Map<string, number>();
  return {
    leases: {
      acquire: async (name, holder, now, duration) => {
        const end = clock.monotonic() + duration;
        const isTaken = await leases.acquire(name, holder, now, duration);
        until.set(name, isTaken ? end : 0);
        return isTaken;
      },
      release: async (name, holder) => {
        until.set(name, 0);
        await leases.release(name, holder);
      },
    },
    held: () => [...until].map(([name, end]) => [[name], clock.monotonic() < end ? 1 : 0]),
  };
};
