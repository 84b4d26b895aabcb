/** Lets few tasks run at the same time, in turns between callers, so that many tasks of one do not keep those of another waiting. */
export interface FairTurns {
  /** Runs the task when it is the caller's turn; settles as the task does. */
  readonly run: <T>(caller: string, task: () => Promise<T>) => Promise<T>;
}

/** @param most tasks at the same time. */
export const createFairTurns = (most: number): FairTurns => {
  /** The first is the next to have a turn. */
  const lines = new Map<string, (() => void)[]>();
  let running = 0;

  const wait = (caller: string): Promise<void> =>
    new Promise((resolve) => {
      const line = lines.get(caller);
      if (line) line.push(resolve);
      else lines.set(caller, [resolve]);
    });

  const leave = (): void => {
    const [first] = lines;
    if (first === undefined) {
      running--;
      return;
    }
    const [caller, line] = first;
    lines.delete(caller);
    const next = line.shift();
    if (line.length > 0) lines.set(caller, line);
    next?.();
  };

  return {
    run: async (caller, task) => {
      if (running < most) running++;
      else await wait(caller);
      try {
        return await task();
      } finally {
        leave();
      }
    },
  };
};
