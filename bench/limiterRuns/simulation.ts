import { chargeCounter } from "../../src/platform/storage/counters/planCharge.ts";
import { refunded, type SharedCounter } from "../../src/platform/storage/counters/sharedCounter.ts";
import { countersOfDocuments } from "../../src/platform/storage/mongo/chargeDocuments.ts";
import type { CounterDocuments } from "../../src/platform/storage/mongo/counterDocuments.ts";
import type { Counters } from "../../src/platform/storage/port/counters.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";

/** What happens to one operation: it works, never reaches the store, or happens and its answer is lost. */
export type Fate = "works" | "not sent" | "answer lost";

interface Watched {
  /** What the store holds, without asking it. */
  readonly peek: (key: string) => SharedCounter | undefined;
  /** Operations so far. */
  readonly operations: () => number;
}
export type SimulatedCounters = Counters & Watched;

export interface SimulationOptions {
  /** Milliseconds that the next message takes, in either direction. */
  readonly latency: () => number;
  readonly fate?: () => Fate;
  /** Lets that many milliseconds pass; by timers unless told. */
  readonly travel?: (milliseconds: number) => Promise<void>;
  /** True unless given. */
  readonly isShared?: boolean;
}

const byTimer = async (milliseconds: number): Promise<void> => {
  if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds));
};

/** What a store holds, and how it answers: after random delays, so that operations overtake each other. */
const simulate = ({ latency, fate = () => "works", travel = byTimer }: SimulationOptions) => {
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

  const both = {
    peek: (key: string) => counters.get(key),
    operations: () => operations,
    read: (key: string) => operate(() => counters.get(key) ?? null),
    refund: (key: string, seq: number, amount: number) =>
      operate(() => {
        const counter = counters.get(key);
        if (counter !== undefined) counters.set(key, refunded(counter, seq, amount));
      }),
  };
  return { counters, operate, both };
};

/** Counters of a store that decides each charge by itself. Under fake timers a test can let any time pass in it. */
export const simulatedCounters = (options: SimulationOptions): SimulatedCounters => {
  const { counters, operate, both } = simulate(options);
  return {
    ...both,
    isShared: options.isShared ?? true,
    charge: (key, request) =>
      operate(() => {
        const { next, answer } = chargeCounter(counters.get(key) ?? null, request);
        if (next !== undefined) counters.set(key, next);
        return answer;
      }),
  };
};

/** Counters of a store that knows conditional writes only, as documents of MongoDB. */
export const simulatedDocuments = (options: SimulationOptions): CounterDocuments & Watched => {
  const { counters, operate, both } = simulate(options);
  const put = (key: string, counter: SharedCounter, expireAt?: Date): SharedCounter => {
    if (expireAt !== undefined && Number.isNaN(expireAt.getTime())) throw new TypeError("no date");
    counters.set(key, counter);
    return counter;
  };
  return {
    ...both,
    // A document is decremented without a look at it.
    refund: (key, seq, amount) =>
      operate(() => {
        const counter = counters.get(key);
        if (counter?.seq === seq) put(key, { ...counter, current: counter.current - amount });
        else if (counter?.seq === seq + 1) put(key, { ...counter, previous: counter.previous - amount });
      }),
    add: (key, seq, atMost, amount) =>
      operate(() => {
        const counter = counters.get(key);
        if (counter?.seq !== seq || counter.current > atMost) return null;
        return put(key, { ...counter, current: counter.current + amount });
      }),
    open: (key, seq, atMost, amount, expireAt) =>
      operate(() => {
        const counter = counters.get(key) ?? { seq, current: 0, previous: 0 };
        if (counter.seq !== seq || counter.previous !== 0 || (counters.has(key) && counter.current > atMost)) return null;
        return put(key, { ...counter, current: counter.current + amount }, expireAt);
      }),
    roll: (key, from, to, expireAt) =>
      operate(() => {
        const counter = counters.get(key);
        if (counter?.seq !== from.seq || counter.current !== from.current) return false;
        put(key, to, expireAt);
        return true;
      }),
  };
};

/** The counters of such documents: a charge may take several operations. */
export const simulatedDocumentCounters = (options: SimulationOptions): SimulatedCounters => {
  const documents = simulatedDocuments(options);
  return { ...countersOfDocuments(documents), peek: documents.peek, operations: documents.operations };
};
