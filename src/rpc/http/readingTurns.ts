import type { Socket } from "node:net";
import { systemClock } from "../../domain/clock.ts";

/** The time that timers pass in, whatever clock the service has. */
const { monotonic } = systemClock;

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
  /** Begins to serve a new connection: what it sent first has been read by then, so it waits while strangers are not read. */
  readonly enter: (begin: () => void) => void;
  /** A stream of a stranger waits to be begun, until what is returned is called: no stranger is read meanwhile, for streams that wait are memory. */
  readonly wait: () => () => void;
}

const handleOf = (socket: Socket): Handle | undefined => (socket as unknown as { readonly _handle: Handle | null })._handle ?? undefined;

/**
 * Bounds how many streams strangers open at once, and what share of the event loop opening them takes. Opening one is
 * node's work, before anything of ours is asked, and each connection that has something to read may open hundreds: after
 * `most` of them the connections of all strangers are left unread until those are begun and the rate has caught up, and
 * the ones that have opened none yet come first then. What they sent waits in the kernel; new connections wait as well.
 *
 * @param most beyond it, what has been read already still counts: as many as one connection may have open.
 * @param perMillisecond how many they may open in the long run.
 * @param worst of so many streams beyond the rate it has to catch up with at most: nobody is left unread for longer than that takes.
 */
export const createReadingTurns = (most: number, perMillisecond: number, worst: number): ReadingTurns => {
  /** In the order in which they are read. */
  const strangers = new Set<Socket>();
  const entering: (() => void)[] = [];
  /** Streams that were opened and that the rate has not caught up with, as of `caughtUpAt`. */
  let ahead = 0;
  let caughtUpAt = monotonic();
  let waiting = 0;
  let isInTurn = false;
  let isStopped = false;
  /** Something will begin to read again. */
  let isComing = false;

  const catchUp = (): void => {
    const now = monotonic();
    ahead = Math.max(0, ahead - (now - caughtUpAt) * perMillisecond);
    caughtUpAt = now;
  };
  /** One in each turn: it may open as many streams as a connection can. */
  const enterNext = (): void => {
    if (isStopped) return;
    entering.shift()?.();
    if (entering.length > 0) setImmediate(enterNext);
  };
  const goOn = (): void => {
    catchUp();
    isComing = ahead > 0 || waiting > 0;
    if (ahead > 0) {
      setTimeout(goOn, ahead / perMillisecond);
    } else if (waiting > 0) {
      setImmediate(goOn);
    } else {
      isStopped = false;
      for (const socket of strangers) handleOf(socket)?.readStart();
      if (entering.length > 0) setImmediate(enterNext);
    }
  };
  const endTurn = (): void => {
    isInTurn = false;
    // The time that opening them took is not the others'.
    caughtUpAt = monotonic();
    if (isStopped && !isComing) goOn();
  };
  const count = (): void => {
    if (!isInTurn) {
      isInTurn = true;
      catchUp();
      setImmediate(endTurn);
    }
    ahead = Math.min(worst, ahead + 1);
  };

  return {
    enter: (begin) => {
      if (isStopped || entering.length > 0) entering.push(begin);
      else begin();
    },
    wait: () => {
      waiting++;
      return () => {
        waiting--;
      };
    },
    join: (socket) => {
      strangers.add(socket);
      if (isStopped) handleOf(socket)?.readStop();
      return {
        opened: () => {
          if (!strangers.delete(socket)) return;
          strangers.add(socket);
          count();
          if (isStopped) {
            handleOf(socket)?.readStop();
          } else if (ahead >= most) {
            isStopped = true;
            for (const other of strangers) handleOf(other)?.readStop();
          }
        },
        leave: () => {
          if (strangers.delete(socket) && isStopped) handleOf(socket)?.readStart();
        },
      };
    },
  };
};
