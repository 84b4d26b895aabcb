import { StoreOverloadedError } from "./errors.ts";

/** As many operations at a time as the store takes at once; the others wait in the order of their arrival. */
export interface Places {
  /** Undefined when there is a place now. Rejects with `StoreOverloadedError` when none becomes free in time. */
  readonly enter: () => Promise<void> | undefined;
  /** For everyone who entered. */
  readonly leave: () => void;
}

/** So many times as many as run may wait: all of them take memory, and the last ones would not come in time. */
const LONGEST_LINE = 100;

/**
 * A line in front of the connections to a store. Its driver has one, too, but cannot tell those who wait for a connection
 * that is busy from those who wait for a server that is away.
 * @param wait the longest that anybody waits, in milliseconds.
 */
export const createPlaces = (most: number, wait: number): Places => {
  let taken = 0;
  const line = new Set<() => void>();
  return {
    enter: () => {
      if (taken < most) {
        taken++;
        return undefined;
      }
      if (line.size >= LONGEST_LINE * most) return Promise.reject(new StoreOverloadedError("too many operations wait for the store"));
      return new Promise((resolve, reject) => {
        const admit = () => {
          clearTimeout(timer);
          resolve();
        };
        const timer = setTimeout(() => {
          line.delete(admit);
          reject(new StoreOverloadedError(`no connection to the store became free within ${wait} ms`));
        }, wait);
        line.add(admit);
      });
    },
    leave: () => {
      const [next] = line;
      if (next === undefined) taken--;
      else {
        line.delete(next);
        next();
      }
    },
  };
};
