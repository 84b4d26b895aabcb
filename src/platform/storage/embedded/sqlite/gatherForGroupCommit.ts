/** What waits is held up by at most so many turns of the event loop. */
const MOST_TURNS = 20;

/**
 * Group commit: calls `then` as soon as a turn of the event loop brings nothing more to what `count` counts. A commit costs as much as
 * several calls, so it is worth these microseconds to have all of them in it that are already on their way; one alone
 * goes at once.
 * @param expected waits for this many while turns bring nothing. Callers of the last group have their answers, and come again together.
 */
export const gatherForGroupCommit = (count: () => number, then: () => void, expected = 1): void => {
  const look = (seen: number, turns: number): void => {
    setImmediate(() => {
      const now = count();
      if ((now > seen || now < expected) && turns < MOST_TURNS) look(now, turns + 1);
      else then();
    });
  };
  look(1, 0);
};
