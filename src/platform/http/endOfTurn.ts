/**
 * Collects items and handles them once this turn of the event loop has looked at everything that was ready. Answers that
 * are written together wake the other ends together: written one by one, each between two requests, half of the time of
 * a verification went into waking clients. A call that is alone loses nothing, its turn ends right after it.
 *
 * @param handle must not throw.
 */
export const atEndOfTurn = <T>(handle: (item: T) => void): ((item: T) => void) => {
  let waiting: T[] = [];
  const handleAll = (): void => {
    const items = waiting;
    waiting = [];
    for (const item of items) handle(item);
  };
  return (item) => {
    if (waiting.length === 0) setImmediate(handleAll);
    waiting.push(item);
  };
};
