import { createFairShares } from "../../fairness/fairShares.ts";
import { createSharedSemaphore, type Permit } from "../../fairness/sharedSemaphore.ts";
import { StoreOverloadedError } from "../port/errors.ts";

/** As many operations at a time as the store takes at once; the others wait, each in the line of its caller. */
export interface Places {
  /**
   * A place, at once if there is one; its `end` gives it back. Rejects with `StoreOverloadedError` when none becomes free in
   * time, or too many wait, and with the signal's reason when that is aborted before.
   */
  readonly enter: (line: string, signal: AbortSignal | undefined) => Permit | Promise<Permit>;
}

/** So many times as many as run may wait: all of them take memory, and the last ones would not come in time. */
const LONGEST_LINE = 100;

const tooMany = (): StoreOverloadedError => new StoreOverloadedError("too many operations wait for the store");

/**
 * Lines in front of the connections to a store, which are served in turn. Its driver has one line for all, and cannot tell
 * those who wait for a connection that is busy from those who wait for a server that is away.
 *
 * One line alone gets half of the places: the others are there for who comes later, however slow what it waits for is.
 * @param most places, at least 1.
 * @param longest that anybody waits, in milliseconds.
 */
export const createPlaces = (most: number, longest: number): Places => {
  const capacity = Math.ceil(most / 2);
  const turns = createSharedSemaphore(createFairShares({ capacity, overdraft: most / capacity - 1 }));
  const waiting = createFairShares({ capacity: LONGEST_LINE * most });

  const wait = (line: string, signal: AbortSignal | undefined): Promise<Permit> =>
    new Promise((resolve, reject) => {
      const giveUp = (error: unknown): void => {
        leave();
        settle();
        reject(error);
      };
      const room = waiting.take([line], 1, () => giveUp(tooMany()));
      if (room === undefined) {
        reject(tooMany());
        return;
      }
      const settle = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
        room.give();
      };
      const leave = turns.wait(line, (turn) => {
        settle();
        resolve(turn);
      });
      const late = (): void => giveUp(new StoreOverloadedError(`no connection to the store became free within ${longest} ms`));
      const aborted = (): void => giveUp(signal?.reason);
      const timer = setTimeout(late, longest);
      signal?.addEventListener("abort", aborted);
    });

  return { enter: (line, signal) => turns.take(line) ?? wait(line, signal) };
};
