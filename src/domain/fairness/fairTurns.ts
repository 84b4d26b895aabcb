import { createFairLine } from "./fairLine.ts";
import type { CallerPath } from "./fairShares.ts";

/** Who wants a turn. */
export interface TurnTaker {
  readonly path: CallerPath;
  /** Ends the waiting, with its reason. */
  readonly signal: AbortSignal;
}

/** Lets few tasks run at the same time, in turns between callers, so that many tasks of one do not keep those of another waiting. */
export interface FairTurns {
  /**
   * Runs the task when it is the caller's turn; settles as the task does. `onWait` is called when that is not at once, and
   * may refuse to wait by throwing. A task that runs is not ended by the signal.
   */
  readonly run: <T>(taker: TurnTaker, onWait: () => void, task: () => Promise<T>) => Promise<T>;
}

/** @param most tasks at the same time. */
export const createFairTurns = (most: number): FairTurns => {
  const line = createFairLine<() => void>();
  let running = 0;

  const wait = ({ path, signal }: TurnTaker): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = (): void => {
        line.remove(path, begin);
        reject(signal.reason);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      line.add(path, begin);
    });

  const leave = (): void => {
    const next = line.next();
    if (next === undefined) running--;
    else next();
  };

  return {
    run: async (taker, onWait, task) => {
      if (running < most) running++;
      else {
        taker.signal.throwIfAborted();
        onWait();
        await wait(taker);
      }
      try {
        return await task();
      } finally {
        leave();
      }
    },
  };
};
