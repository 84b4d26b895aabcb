/** Runs tasks of one key one after the other, in order of arrival; tasks of different keys run side by side. */
export interface KeyedMutex {
  readonly run: <T>(key: string, task: () => Promise<T>) => Promise<T>;
}

/** Only spares this node useless conflicts with itself: what is correct must not rest on it, other nodes write too. */
export const createKeyedMutex = (): KeyedMutex => {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run: (key, task) => {
      const previous = tails.get(key) ?? Promise.resolve();
      const result = previous.then(task, task);
      tails.set(key, result);
      const forget = (): void => {
        if (tails.get(key) === result) tails.delete(key);
      };
      result.then(forget, forget);
      return result;
    },
  };
};
