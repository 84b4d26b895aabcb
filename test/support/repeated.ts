import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "../../src/storage/store.ts";
import type { Answer } from "./edges.ts";

const TRIES = 5;
const PAUSE_MS = 500;

/**
 * On a MongoDB server a call that is repeated while it is 503, as its caller is told to: FerretDB undoes writes of one
 * unique value that meet, each after a second, so of a dozen at once some run out of time. Elsewhere just the call.
 */
export const repeatedWhileAway = async ({ engine }: Store, call: () => Promise<Answer>): Promise<Answer> => {
  for (let tries = 1; ; tries++) {
    const answer = await call();
    if (engine !== "mongo" || answer.status !== 503 || tries === TRIES) return answer;
    await sleep(PAUSE_MS);
  }
};
