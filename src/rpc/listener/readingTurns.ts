import type { Socket } from "node:net";

/** The part of node's handle of a socket that says whether it is read; HTTP/2 reads from it directly. */
interface Handle {
  readonly readStart: () => void;
  readonly readStop: () => void;
}

/** One connection whose caller nobody knows yet. */
export interface Stranger {
  /** To be called for each stream that it opens. */
  readonly opened: () => void;
  /** Its caller is known, or it is closed: from now on it is read whatever the others do. */
  readonly leave: () => void;
}

export interface ReadingTurns {
  readonly join: (socket: Socket) => Stranger;
  /** A stream of a stranger waits to be begun, until what is returned is called: no stranger is read meanwhile, for streams that wait are memory. */
  readonly wait: () => () => void;
}

const handleOf = (socket: Socket): Handle | undefined => (socket as unknown as { readonly _handle: Handle | null })._handle ?? undefined;

/**
 * Bounds how many streams strangers open in one turn of the event loop. Opening one is node's work, before anything of ours
 * is asked, and each connection that has something to read may open hundreds at once: after `most` of them the connections
 * of all strangers are left unread until those are begun, and the ones that have opened none yet come first then. What they
 * sent waits in the kernel.
 *
 * @param most beyond it, what has been read already still counts: as many as one connection may have open.
 */
export const createReadingTurns = (most: number): ReadingTurns => {
  /** In the order in which they are read. */
  const strangers = new Set<Socket>();
  let opened = 0;
  let waiting = 0;
  let isArmed = false;
  let isStopped = false;

  const arm = (): void => {
    if (isArmed) return;
    isArmed = true;
    setImmediate(turn);
  };
  const turn = (): void => {
    isArmed = false;
    if (waiting > 0) {
      arm();
      return;
    }
    opened = 0;
    if (!isStopped) return;
    isStopped = false;
    for (const socket of strangers) handleOf(socket)?.readStart();
  };
  const stop = (): void => {
    isStopped = true;
    for (const socket of strangers) handleOf(socket)?.readStop();
  };

  return {
    wait: () => {
      waiting++;
      return () => {
        waiting--;
      };
    },
    join: (socket) => {
      strangers.add(socket);
      return {
        opened: () => {
          if (!strangers.delete(socket)) return;
          strangers.add(socket);
          arm();
          if (++opened >= most && !isStopped) stop();
        },
        leave: () => {
          if (strangers.delete(socket) && isStopped) handleOf(socket)?.readStart();
        },
      };
    },
  };
};
