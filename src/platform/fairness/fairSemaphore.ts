import type { CallerPath } from "./fairShares.ts";
import { createRoundRobinQueue } from "./roundRobinQueue.ts";

/** Who wants a permit. */
export interface PermitRequest {
  readonly path: CallerPath;
  /** Ends the waiting, with its reason; undefined where the task runs in any case. */
  readonly signal: AbortSignal | undefined;
}

/** A semaphore that serves callers round-robin: few tasks run at the same time, and many of one caller do not keep those of another waiting. */
export interface FairSemaphore {
  /**
   * Runs the task once there is a permit for the caller; settles as the task does. `onWait` is called when that is not at once, and
   * may refuse to wait by throwing. A task that runs is not ended by the signal.
   */
  readonly run: <T>(request: PermitRequest, onWait: () => void, task: () => Promise<T>) => Promise<T>;
}

/** @param most tasks at the same time. */
export const createFairSemaphore = (most: number): FairSemaphore => {
  const queue = createRoundRobinQueue<() => void>();
  let running = 0;

  const wait = ({ path, signal }: PermitRequest): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = (): void => {
        queue.remove(path, begin);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", giveUp, { once: true });
      queue.add(path, begin);
    });

  const leave = (): void => {
    const next = queue.next();
    if (next === undefined) running--;
    else next();
  };

  return {
    run: async (request, onWait, task) => {
      if (running < most) running++;
      else {
        request.signal?.throwIfAborted();
        onWait();
        await wait(request);
      }
      try {
        return await task();
      } finally {
        leave();
      }
    },
  };
};
