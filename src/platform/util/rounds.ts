/** Work that is done again and again in the background. */
export interface Rounds {
  /** Begins the first round after so many milliseconds, and `every` unless told. */
  readonly start: (after?: number) => void;
  /** Begins no further round; waits for the one that runs. */
  readonly stop: () => Promise<void>;
}

/**
 * Runs `round` again `every` milliseconds after it ended, also when it failed. Keeps no process alive.
 * @param onError hears why a round failed
 */
export const createRounds = (every: number, round: () => Promise<void>, onError?: (error: unknown) => void): Rounds => {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isStopped = false;
  const schedule = (after: number): void => {
    if (isStopped) return;
    timer = setTimeout(() => {
      running = round()
        .catch((error: unknown) => onError?.(error))
        .finally(() => schedule(every));
    }, after).unref();
  };
  return {
    start: (after = every) => schedule(after),
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
};
