/** Keeps a few writes on their way at the same time, and knows up to where all are done. */
export interface WritesInTurns {
  /** Begins a write as soon as there is room. Rejects as one before it did. @param end what is done, with all that began before it, once this is. */
  readonly add: (write: () => Promise<unknown>, end: number) => Promise<void>;
  /** Resolves once all are done. Rejects as one of them did, when none runs any more. */
  readonly finish: () => Promise<void>;
}

/**
 * Writes that were begun in their order and may end in any. One that failed lets no more begin.
 * @param most how many at the same time
 * @param onDone hears, in order, up to where all is done
 */
export const writeInTurns = (most: number, onDone: (end: number) => Promise<void>): WritesInTurns => {
  let failure: { readonly error: unknown } | undefined;
  const running: { readonly done: Promise<unknown>; readonly end: number }[] = [];

  /** Resolves when none runs any more, however they ended. */
  const settle = async (): Promise<void> => {
    await Promise.allSettled(running.map(({ done }) => done));
  };

  const awaitFirst = async (): Promise<void> => {
    const first = running[0];
    if (first === undefined) return;
    try {
      await first.done;
      await onDone(first.end);
    } catch (error) {
      await settle();
      throw error;
    }
    running.shift();
  };

  return {
    add: async (write, end) => {
      while (running.length >= most) await awaitFirst();
      if (failure !== undefined) {
        await settle();
        throw failure.error;
      }
      const done = write();
      done.catch((error: unknown) => {
        failure ??= { error };
      });
      running.push({ done, end });
    },
    finish: async () => {
      while (running.length > 0) await awaitFirst();
    },
  };
};
