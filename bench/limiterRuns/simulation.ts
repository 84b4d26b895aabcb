import type { Counters, SharedCounter } from "../../src/storage/port/counters.ts";
import { StoreUnavailableError } from "../../src/storage/port/errors.ts";

/** What happens to one operation: it works, never reaches the store, or happens and its answer is lost. */
export type Fate = "works" | "not sent" | "answer lost";

export interface SimulatedCounters extends Counters {
  /** What the store holds, without asking it. */
  readonly peek: (key: string) => SharedCounter | undefined;
  /** Operations so far. */
  readonly operations: () => number;
}

export interface SimulationOptions {
  /** Milliseconds that the next message takes, in either direction. */
  readonly latency: () => number;
  readonly fate?: () => Fate;
  /** Lets that many milliseconds pass; by timers unless told. */
  readonly travel?: (milliseconds: number) => Promise<void>;
  /** Unless told, as there were other nodes. */
  readonly isShared?: boolean;
}

const byTimer = async (milliseconds: number): Promise<void> => {
  if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds));
};

/**
 * The counters of a store that answers after random delays, so that operations overtake each other. Under fake timers
 * a test can let any time pass in it.
 */
export const simulatedCounters = ({
  latency,
  fate = () => "works",
  travel = byTimer,
  isShared = true,
}: SimulationOptions): SimulatedCounters => {
  const counters = new Map<string, SharedCounter>();
  let operations = 0;

  const operate = async <T>(operation: () => T): Promise<T> => {
    operations++;
    const outcome = fate();
    await travel(latency());
    if (outcome === "not sent") throw new StoreUnavailableError("simulated");
    const result = operation();
    await travel(latency());
    if (outcome === "answer lost") throw new StoreUnavailableError("simulated", { outcomeUnknown: true });
    return result;
  };

  return {
    isShared,
    peek: (key) => counters.get(key),
    operations: () => operations,
    read: (key) => operate(() => counters.get(key) ?? null),
    charge: (key, seq, atMost, amount) =>
      operate(() => {
        const counter = counters.get(key);
        if (counter?.seq !== seq || counter.current > atMost) return null;
        const charged = { ...counter, current: counter.current + amount };
        counters.set(key, charged);
        return charged;
      }),
    open: (key, seq, atMost, amount, expireAt) =>
      operate(() => {
        if (Number.isNaN(expireAt.getTime())) throw new TypeError("no date");
        const counter = counters.get(key) ?? { seq, current: 0, previous: 0 };
        if (counter.seq !== seq || counter.previous !== 0 || (counters.has(key) && counter.current > atMost)) return null;
        const charged = { ...counter, current: counter.current + amount };
        counters.set(key, charged);
        return charged;
      }),
    roll: (key, from, to, expireAt) =>
      operate(() => {
        if (Number.isNaN(expireAt.getTime())) throw new TypeError("no date");
        const counter = counters.get(key);
        if (counter?.seq !== from.seq || counter.current !== from.current) return false;
        counters.set(key, to);
        return true;
      }),
    refund: (key, seq, amount) =>
      operate(() => {
        const counter = counters.get(key);
        if (counter?.seq === seq) counters.set(key, { ...counter, current: counter.current - amount });
        else if (counter?.seq === seq + 1) counters.set(key, { ...counter, previous: counter.previous - amount });
      }),
  };
};
