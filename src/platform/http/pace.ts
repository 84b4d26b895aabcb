import type { CallerPath } from "../fairness/fairShares.ts";
import { createRoundRobinQueue } from "../fairness/roundRobinQueue.ts";

/** Bounds what is begun in one turn of the event loop, so that what comes all at once delays others by one turn at a time. */
export interface Pace {
  /** Whether one may begin now; it counts when it may. */
  readonly take: () => boolean;
  /** Begins in a turn to come, callers in turns. */
  readonly later: (path: CallerPath, begin: () => void) => void;
}

/** @param most how many begin in one turn. */
export const createPace = (most: number): Pace => {
  const line = createRoundRobinQueue<() => void>();
  let begun = 0;
  let isArmed = false;

  const turn = (): void => {
    isArmed = false;
    begun = 0;
    while (begun < most) {
      const begin = line.next();
      if (begin === undefined) break;
      arm();
      begun++;
      begin();
    }
  };
  const arm = (): void => {
    if (isArmed) return;
    isArmed = true;
    setImmediate(turn);
  };

  return {
    take: () => {
      if (begun >= most || !line.isEmpty()) return false;
      begun++;
      arm();
      return true;
    },
    later: (path, begin) => {
      line.add(path, begin);
      arm();
    },
  };
};
