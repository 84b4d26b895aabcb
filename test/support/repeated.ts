import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "./edges.ts";

const TRIES = 5;
const PAUSE_MS = 500;

/**
 * A call that is repeated while it is 503, as its caller is told to: FerretDB undoes writes of one unique value that
 * meet, each after a second, so of a dozen at once some run out of time.
 */
export const repeatedWhileAway = async (call: () => Promise<Answer>): Promise<Answer> => {
  for (let tries = 1; ; tries++) {
    const answer = await call();
    if (answer.status !== 503 || tries === TRIES) return answer;
    await sleep(PAUSE_MS);
  }
};
