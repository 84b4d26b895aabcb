/** Tells who waits for a disk that something was finished on it. */
export interface Progress {
  readonly made: () => void;
  /** Resolves with the next one. */
  readonly next: () => Promise<void>;
}

export const createProgress = (): Progress => {
  let awaited: PromiseWithResolvers<void> | undefined;
  return {
    made: () => {
      awaited?.resolve();
      awaited = undefined;
    },
    next: () => {
      awaited ??= Promise.withResolvers();
      return awaited.promise;
    },
  };
};
