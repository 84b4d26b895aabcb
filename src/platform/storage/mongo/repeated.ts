import { setTimeout as sleep } from "node:timers/promises";

/** How often an operation is sent that the server undid, or whose insert another node's came before. */
const ATTEMPTS = 5;
/** The longest pause before the second attempt, in milliseconds; each further one may be as much longer. At random, or two would meet again. */
const PAUSE = 20;

/** Repeats while the operation fails for the reason that `again` names. */
export const repeated = async <T>(again: (error: unknown) => boolean, operation: () => Promise<T>): Promise<T> => {
  for (let attempts = 1; ; attempts++) {
    try {
      return await operation();
    } catch (error) {
      if (attempts === ATTEMPTS || !again(error)) throw error;
      await sleep(Math.random() * PAUSE * attempts);
    }
  }
};
