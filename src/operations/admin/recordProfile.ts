import { Session } from "node:inspector/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Kinds of profiles, as addresses name them. */
export const profileKinds = ["cpu", "heap"] as const;
export type ProfileKind = (typeof profileKinds)[number];

/** Samples of a CPU profile, at most: beyond so many seconds they are taken less often than once in a millisecond. */
const MOST_SAMPLES = 30_000;
const SHORTEST_INTERVAL_US = 1_000;

type Recording = (session: Session, duringIt: () => Promise<void>, seconds: number) => Promise<unknown>;

const recordings: Readonly<Record<ProfileKind, Recording>> = {
  cpu: async (session, duringIt, seconds) => {
    await session.post("Profiler.enable");
    const interval = Math.max(SHORTEST_INTERVAL_US, Math.ceil((seconds * 1e6) / MOST_SAMPLES));
    await session.post("Profiler.setSamplingInterval", { interval });
    await session.post("Profiler.start");
    await duringIt();
    return (await session.post("Profiler.stop")).profile;
  },
  heap: async (session, duringIt) => {
    await session.post("HeapProfiler.enable");
    await session.post("HeapProfiler.startSampling");
    await duringIt();
    return (await session.post("HeapProfiler.stopSampling")).profile;
  },
};

/**
 * Records the main thread of this process for so many seconds, and resolves to the JSON of a `.cpuprofile` or a `.heapprofile`
 * (what was allocated in that time and is still in use, by where). Names of functions, files and lines, times and sizes; no
 * value of any variable. Rejects with the reason of `signal`, and records no longer, once that is aborted.
 */
export const recordProfile = async (kind: ProfileKind, seconds: number, signal: AbortSignal): Promise<string> => {
  const session = new Session();
  session.connect();
  try {
    const profile = await recordings[kind](session, () => sleep(seconds * 1_000, undefined, { signal }), seconds);
    return JSON.stringify(profile);
  } finally {
    // Ends what is still being recorded.
    session.disconnect();
  }
};
