import type { Clock } from "../../../platform/base/clock.ts";
import { orAborted } from "../orAborted.ts";

export interface SharedAnswersOptions<T> {
  readonly clock: Clock;
  /** How long after a question was asked its answer is given again, in ms. */
  readonly keepMs: number;
  /** What all answers that are kept may weigh together. */
  readonly maxWeight: number;
  readonly weightOf: (answer: T) => number;
}

/**
 * Answers a question.
 * @param key equal for equal questions of callers who may know the same.
 * @param signal of this caller, whose leaving ends the work only when nobody else waits for it.
 */
export type AskShared<T> = (key: string, signal: AbortSignal, answer: (signal: AbortSignal) => Promise<T>) => Promise<T>;

interface Entry<T> {
  readonly askedAt: number;
  readonly answer: Promise<T>;
  readonly ending: AbortController;
  waiting: number;
  isAnswered: boolean;
  weight: number;
}

/** Equal questions within a short time share one answer; failures are nobody else's. */
export const createSharedAnswers = <T>({ clock, keepMs, maxWeight, weightOf }: SharedAnswersOptions<T>): AskShared<T> => {
  /** In the order in which they were asked. */
  const entries = new Map<string, Entry<T>>();
  let weight = 0;

  const drop = (key: string, entry: Entry<T>): void => {
    if (entries.get(key) !== entry) return;
    entries.delete(key);
    weight -= entry.weight;
  };
  const prune = (): void => {
    const oldest = clock.monotonic() - keepMs;
    for (const [key, entry] of entries) {
      if (entry.askedAt > oldest && weight <= maxWeight) return;
      drop(key, entry);
    }
  };
  const keep = (key: string, entry: Entry<T>, answer: T): void => {
    entry.isAnswered = true;
    if (entries.get(key) !== entry) return;
    entry.weight = weightOf(answer);
    weight += entry.weight;
    prune();
  };
  const ask = (key: string, run: (signal: AbortSignal) => Promise<T>): Entry<T> => {
    const ending = new AbortController();
    const entry: Entry<T> = {
      askedAt: clock.monotonic(),
      answer: run(ending.signal),
      ending,
      waiting: 0,
      isAnswered: false,
      weight: 0,
    };
    entries.set(key, entry);
    entry.answer.then(
      (answer) => keep(key, entry, answer),
      () => drop(key, entry),
    );
    return entry;
  };

  return async (key, signal, run) => {
    signal.throwIfAborted();
    prune();
    const entry = entries.get(key) ?? ask(key, run);
    entry.waiting++;
    try {
      return await orAborted(entry.answer, signal);
    } finally {
      entry.waiting--;
      if (entry.waiting === 0 && !entry.isAnswered) {
        drop(key, entry);
        entry.ending.abort();
      }
    }
  };
};
