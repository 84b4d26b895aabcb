import { createFairLine } from "../../domain/fairness/fairLine.ts";
import type { CallerPath } from "../../domain/fairness/fairShares.ts";
import { briefBody, endsPerTurn, wholePerTurn } from "../http/limits.ts";

/** Work in slices: `yield` says how many bytes were handled since the last one, and lets others go on. */
export type Sliced<T> = Generator<number, T, void>;

/** Whose work it is. */
export interface Worker {
  readonly path: CallerPath;
  /** Once it is aborted the work fails with its reason; undefined where it is done in any case. */
  readonly signal: AbortSignal | undefined;
}

export interface Slices {
  /** Does work in slices, and fails as it does. */
  readonly run: <T>(work: Sliced<T>, worker: Worker) => Promise<T>;
  /**
   * Whether so few bytes may be handled at once, beside the line: while nobody stands in it, and not many of them in one turn
   * of the event loop. Yes is counted. What is very little always may.
   */
  readonly mayBeWhole: (bytes: number) => boolean;
}

export interface SlicesOptions {
  /** Hears of each slice and the bytes that were handled in it. */
  readonly onSlice?: (bytes: number) => void;
}

interface Task {
  readonly work: Sliced<unknown>;
  readonly worker: Worker;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * What is too much for one turn of the event loop goes on in slices: one slice in a turn, whoever's it is, callers in turns
 * and each one's tasks in turns. Of work that comes to its end, as small bodies do at once, several fit in a turn. So large
 * bodies share the time between calls among their callers, and any number of them adds no more to a call's wait than that.
 */
export const createSlices = ({ onSlice }: SlicesOptions = {}): Slices => {
  const line = createFairLine<Task>();
  /** Bytes that were handled beside the line in this turn. */
  let whole = 0;

  /** Does the next slice of a task, and says how much of a turn that was. */
  const advance = (task: Task): number => {
    const { work, worker, resolve, reject } = task;
    try {
      worker.signal?.throwIfAborted();
    } catch (reason) {
      reject(reason);
      return 0;
    }
    try {
      const { done, value } = work.next();
      if (!done) {
        onSlice?.(value as number);
        line.add(worker.path, task);
        return 1;
      }
      resolve(value as never);
    } catch (error) {
      reject(error);
    }
    return 1 / endsPerTurn;
  };

  const next = (): void => {
    for (let used = 0; used < 1; ) {
      const task = line.next();
      if (task === undefined) return;
      used += advance(task);
    }
    if (!line.isEmpty()) setImmediate(next);
  };

  const endTurn = (): void => {
    whole = 0;
  };

  return {
    run: (work, worker) =>
      new Promise((resolve, reject) => {
        if (line.isEmpty()) setImmediate(next);
        line.add(worker.path, { work, worker, resolve, reject });
      }),
    mayBeWhole: (bytes) => {
      if (bytes <= briefBody) return true;
      if (!line.isEmpty() || whole + bytes > wholePerTurn) return false;
      if (whole === 0) setImmediate(endTurn);
      whole += bytes;
      return true;
    },
  };
};

/** Does all of it at once: for what is known to be little. */
export const runAtOnce = <T>(work: Sliced<T>): T => {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
};
