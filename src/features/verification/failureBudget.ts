import type { Clock } from "../../platform/base/clock.ts";

/** Verifications of unknown keys that a caller may have in one second before its look-ups queue. */
const FAILURES_PER_SECOND = 1_000;
const SECOND_MS = 1_000;

interface Caller {
  startedAt: number;
  failures: number;
  /** The last of those who queue. */
  last: Promise<void> | undefined;
}

/**
 * Bounds what a flood of unknown keys costs everybody else (verify §12): a caller beyond its budget looks keys up in the
 * store one after the other instead of all at once. No answer changes: a key that exists is found in its turn.
 */
export interface FailureBudget {
  /** Notes that a caller asked for a key that does not exist. */
  readonly note: (rootKeyId: string) => void;
  /**
   * To be called before the store is asked. Undefined: at once. Otherwise it resolves when it is the call's turn, to what
   * lets the next one have it.
   */
  readonly turn: (rootKeyId: string) => Promise<() => void> | undefined;
}

export const createFailureBudget = (clock: Clock): FailureBudget => {
  const callers = new Map<string, Caller>();

  /** The caller's present second; none while it fails now and then at most. */
  const current = (rootKeyId: string): Caller | undefined => {
    const caller = callers.get(rootKeyId);
    if (caller === undefined || clock.monotonic() - caller.startedAt < SECOND_MS) return caller;
    if (caller.last === undefined) {
      callers.delete(rootKeyId);
      return undefined;
    }
    caller.startedAt = clock.monotonic();
    caller.failures = 0;
    return caller;
  };

  return {
    note: (rootKeyId) => {
      const caller = current(rootKeyId);
      if (caller === undefined) callers.set(rootKeyId, { startedAt: clock.monotonic(), failures: 1, last: undefined });
      else caller.failures++;
    },
    turn: (rootKeyId) => {
      const caller = current(rootKeyId);
      if (caller === undefined || (caller.failures < FAILURES_PER_SECOND && caller.last === undefined)) return undefined;
      const before = caller.last;
      const { promise, resolve } = Promise.withResolvers<void>();
      caller.last = promise;
      const release = (): void => {
        if (caller.last === promise) caller.last = undefined;
        resolve();
      };
      return before === undefined ? Promise.resolve(release) : before.then(() => release);
    },
  };
};
