/** Runs tasks of one key one after the other, in order of arrival; tasks of different keys run side by side. */
export interface KeyedMutex {
  /** @param task told whether it had to wait for another one. */
  readonly run: <T>(key: string, task: (waited: boolean) => Promise<T>) => Promise<T>;
}

/** Only spares this node useless conflicts with itself: what is correct must not rest on it, other nodes write too. */
export const createKeyedMutex = (): KeyedMutex => {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run: (key, task) => {
      const previous = tails.get(key);
      const start = () => task(previous !== undefined);
      const result = (previous ?? Promise.resolve()).then(start, start);
      tails.set(key, result);
      const forget = (): void => {
        if (tails.get(key) === result) tails.delete(key);
      };
      result.then(forget, forget);
      return result;
    },
  };
};
