import type { FairShares } from "./fairShares.ts";

/** A permit of the semaphore; `end` lets the next one have it. */
export interface Permit {
  readonly end: () => void;
}

/** A semaphore of which callers have several permits at the same time, each as many as its share allows; the next ones go round-robin to those that wait. */
export interface SharedSemaphore {
  /** A permit, if the caller may have one now and nothing of its own waits. */
  readonly take: (caller: string) => Permit | undefined;
  /** Waits behind what the caller waits for already; `admit` gets the permit. Returns what leaves the line. */
  readonly wait: (caller: string, admit: (permit: Permit) => void) => () => void;
}

/** @param running what permits are taken of, one each; nothing else may take of it. */
export const createSharedSemaphore = (running: FairShares): SharedSemaphore => {
  /** The first has the next permit, unless it has more than its share already. */
  const lines = new Map<string, Set<(permit: Permit) => void>>();

  const begin = (caller: string): Permit | undefined => {
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
      const permit = begin(caller);
      if (permit === undefined) continue;
      const [admit] = line;
      lines.delete(caller);
      if (admit !== undefined) line.delete(admit);
      if (line.size > 0) lines.set(caller, line);
      admit?.(permit);
      return;
    }
  };

  const take: SharedSemaphore["take"] = (caller) => (lines.has(caller) ? undefined : begin(caller));

  const wait: SharedSemaphore["wait"] = (caller, admit) => {
    const line = lines.get(caller) ?? new Set();
    lines.set(caller, line.add(admit));
    return () => {
      if (line.delete(admit) && line.size === 0) lines.delete(caller);
    };
  };

  return { take, wait };
};
