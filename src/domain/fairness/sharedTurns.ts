import type { FairShares } from "./fairShares.ts";

/** What was waited for; `end` lets the next one have it. */
export interface Turn {
  readonly end: () => void;
}

/** Turns of which callers have several at the same time, each as many as its share allows; the next ones go around the callers that wait. */
export interface SharedTurns {
  /** A turn, if the caller may have one now and nothing of its own waits. */
  readonly take: (caller: string) => Turn | undefined;
  /** Waits behind what the caller waits for already; `admit` gets the turn. Returns what leaves the line. */
  readonly wait: (caller: string, admit: (turn: Turn) => void) => () => void;
}

/** @param running what turns are taken of, one each; nothing else may take of it. */
export const createSharedTurns = (running: FairShares): SharedTurns => {
  /** The first has the next turn, unless it has more than its share already. */
  const lines = new Map<string, Set<(turn: Turn) => void>>();

  const begin = (caller: string): Turn | undefined => {
    const share = running.take([caller], 1);
    if (share === undefined) return undefined;
    return {
      end: () => {
        share.give();
        admitNext();
      },
    };
  };

  const admitNext = (): void => {
    for (const [caller, line] of lines) {
      const turn = begin(caller);
      if (turn === undefined) continue;
      const [admit] = line;
      lines.delete(caller);
      if (admit !== undefined) line.delete(admit);
      if (line.size > 0) lines.set(caller, line);
      admit?.(turn);
      return;
    }
  };

  const take: SharedTurns["take"] = (caller) => (lines.has(caller) ? undefined : begin(caller));

  const wait: SharedTurns["wait"] = (caller, admit) => {
    const line = lines.get(caller) ?? new Set();
    lines.set(caller, line.add(admit));
    return () => {
      if (line.delete(admit) && line.size === 0) lines.delete(caller);
    };
  };

  return { take, wait };
};
