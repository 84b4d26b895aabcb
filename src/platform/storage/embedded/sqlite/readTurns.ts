/**
 * What reads may use of one turn of the event loop, all together: 2.5 ms where a document of usual size takes 2.5 µs to read and
 * decode, one that a search looks at 1.4 µs, and a megabyte of text 2.5 ms; with look-ups twice that. Nothing may hold the
 * thread for 20 ms: the rest is for machines that are slower or busy, and for the document or slice with which the room ends.
 */
export const TURN: { readonly rows: number; readonly bytes: number } = { rows: 1_000, bytes: 1024 * 1024 };

/** What a look-up of one document costs beside its bytes, in rows: a statement is begun for it. */
export const LOOK_UP_ROWS = 4;

/** Says what was read: rows looked at, and the length of texts. */
export type Spend = (rows: number, bytes: number) => void;

export interface ReadTurns {
  /**
   * Runs a read now if this turn has room for it, else in one of the next, after those that wait already. `one`: a look-up
   * of one document, which others do not hold up: it goes before all slices but one, and may use as much again. `slice`: a part of a
   * larger read; each turn has room for one at least. Rejects with what `read` throws.
   */
  readonly run: <T>(kind: Kind, read: (spend: Spend) => T) => Promise<T>;
}

type Kind = "one" | "slice";

/** Of what is in `TURN`. */
const share: Readonly<Record<Kind, number>> = { one: 2, slice: 1 };

/**
 * Shares the thread between reads and everything else. What is counted is shared, too: a hundred small reads that arrive
 * together keep the thread no longer than a large one.
 */
export const createReadTurns = (): ReadTurns => {
  const waiting: Readonly<Record<Kind, (() => void)[]>> = { one: [], slice: [] };
  let used = 0;
  let isEndAwaited = false;

  const hasRoom = (kind: Kind): boolean => used < share[kind];

  const begin = (): void => {
    isEndAwaited = false;
    used = 0;
    waiting.slice.shift()?.();
    for (const kind of ["one", "slice"] as const) while (waiting[kind].length > 0 && hasRoom(kind)) waiting[kind].shift()?.();
    if (waiting.one.length + waiting.slice.length > 0) awaitEnd();
  };

  const awaitEnd = (): void => {
    if (isEndAwaited) return;
    isEndAwaited = true;
    setImmediate(begin);
  };

  const spend: Spend = (rows, bytes) => {
    used += rows / TURN.rows + bytes / TURN.bytes;
    awaitEnd();
  };

  return {
    run: <T>(kind: Kind, read: (spend: Spend) => T) =>
      new Promise<T>((resolve, reject) => {
        const attempt = (): void => {
          try {
            resolve(read(spend));
          } catch (error) {
            reject(error);
          }
        };
        if (waiting[kind].length === 0 && hasRoom(kind)) {
          attempt();
          return;
        }
        waiting[kind].push(attempt);
        awaitEnd();
      }),
  };
};
