import { weightedPrevious, windowAt } from "../../../../../src/platform/storage/counters/slidingWindow.ts";

/** A check that was made. */
export interface CheckEvent {
  /** Unix ms. */
  readonly time: number;
  readonly identifier: string;
  /** The cost it asked for. */
  readonly tokens: number;
  /** How it ended then. */
  readonly passed: boolean;
}

/** The limit that is tried out on them. */
export interface TriedLimit {
  readonly limit: number;
  /** Milliseconds. */
  readonly duration: number;
}

/** How many checks there were, how many of them were denied then, and how many the tried limit denies. */
export interface Denials {
  readonly checks: number;
  readonly deniedThen: number;
  readonly deniedNow: number;
}

export interface Replay extends Denials {
  /** Most denied by the tried limit first, then most checks. */
  readonly identifiers: readonly (Denials & { readonly identifier: string })[];
  /** By the start of their minute, Unix ms, from the first check to the last. */
  readonly minutes: readonly (Denials & { readonly time: number })[];
}

/** Events between two breaks: a few milliseconds of work. */
const slice = 2000;

const minute = 60_000;

/** Lets the browser paint and hear the reader. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

interface Counter {
  window: number;
  current: number;
  previous: number;
}

/** Judges one check as the service does (ratelimit §3), and counts it when it passes. */
const judge = (counter: Counter, { time, tokens }: CheckEvent, { limit, duration }: TriedLimit): boolean => {
  const window = windowAt(time, duration);
  if (window !== counter.window) {
    counter.previous = window === counter.window + 1 ? counter.current : 0;
    counter.current = 0;
    counter.window = window;
  }
  const passes = counter.current + weightedPrevious(counter.previous, time, duration) + tokens <= limit;
  if (passes) counter.current += tokens;
  return passes;
};

const added = (before: Denials | undefined, { passed }: CheckEvent, passes: boolean): Denials => ({
  checks: (before?.checks ?? 0) + 1,
  deniedThen: (before?.deniedThen ?? 0) + (passed ? 0 : 1),
  deniedNow: (before?.deniedNow ?? 0) + (passes ? 0 : 1),
});

/**
 * Replays checks under another limit to find which would have been denied. Each identifier has its own counter, which starts empty.
 * It works in slices, so that the page stays responsive. Budget that nodes take in chunks is not replayed.
 * @param events ascending by time
 * @returns undefined when it was aborted
 */
export const replay = async (events: readonly CheckEvent[], tried: TriedLimit, signal: AbortSignal): Promise<Replay | undefined> => {
  const counters = new Map<string, Counter>();
  const identifiers = new Map<string, Denials>();
  const minutes = new Map<number, Denials>();
  for (const [index, event] of events.entries()) {
    if (index % slice === 0 && index > 0) await turn();
    if (signal.aborted) return undefined;
    const counter = counters.get(event.identifier) ?? { window: 0, current: 0, previous: 0 };
    counters.set(event.identifier, counter);
    const passes = judge(counter, event, tried);
    const start = Math.floor(event.time / minute) * minute;
    identifiers.set(event.identifier, added(identifiers.get(event.identifier), event, passes));
    minutes.set(start, added(minutes.get(start), event, passes));
  }
  const times = [...minutes.keys()].sort((one, other) => one - other);
  const [first = 0, last = -1] = [times[0], times.at(-1)];
  const nothing = { checks: 0, deniedThen: 0, deniedNow: 0 };
  const listed = [...identifiers].map(([identifier, denials]) => ({ identifier, ...denials }));
  const sum = (name: keyof Denials): number => listed.reduce((total, denials) => total + denials[name], 0);
  return {
    checks: sum("checks"),
    deniedThen: sum("deniedThen"),
    deniedNow: sum("deniedNow"),
    identifiers: listed.sort((one, other) => other.deniedNow - one.deniedNow || other.checks - one.checks),
    minutes: Array.from({ length: Math.floor((last - first) / minute) + 1 }, (_, index) => {
      const time = first + index * minute;
      return { time, ...(minutes.get(time) ?? nothing) };
    }),
  };
};
