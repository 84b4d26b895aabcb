import type { Clock } from "../../base/clock.ts";
import { StoreUnavailableError } from "../port/errors.ts";

export type CircuitState = "up" | "away";

export interface CircuitOptions {
  readonly clock: Clock;
  /** What is asked, for messages: `the store`. */
  readonly name: string;
  /** Resolves when it answers. */
  readonly ping: () => Promise<void>;
  /** See `Store`. */
  readonly isInProcess?: boolean | undefined;
  readonly progress?: (() => Promise<void>) | undefined;
  /** Whether a failure means that it is away, if it was not slow; by default every one does. */
  readonly isProof?: boolean;
  /** The longest that one operation may take, in milliseconds. */
  readonly operationTimeout: number;
  /** Pause between two pings while it is away, in milliseconds. */
  readonly pingInterval: number;
  /** The longest that a ping may take, in milliseconds. */
  readonly pingTimeout: number;
  /** Called once per change, with its cause when it went away, and how long it was away (milliseconds) when it is up again. */
  readonly onStateChange:
    | ((state: CircuitState, details: { readonly cause?: StoreUnavailableError; readonly awayFor?: number }) => void)
    | undefined;
}

/** Bounds operations in time, and refuses them while what they ask is away. */
export interface Circuit {
  /** Throws while it is away. */
  readonly refuseWhileAway: () => void;
  /** @param onLate called when the time is over. */
  readonly timed: <T>(kind: "read" | "write", operation: () => Promise<T>, onLate?: () => void) => Promise<T>;
  /** It is away from now on, until it answers a ping. */
  readonly trip: (cause: StoreUnavailableError) => void;
  readonly state: () => CircuitState;
  /** Ends the pings. */
  readonly close: () => void;
}

/**
 * After one `StoreUnavailableError` all operations fail at once (nothing is sent, so the outcome is known) until a ping is answered,
 * which is sent in the background. An operation that was too slow proves little: it trips the circuit only if a ping is not answered
 * either, or, of a store in this process, nothing else is finished meanwhile.
 */
export const createCircuit = (options: CircuitOptions): Circuit => {
  const {
    clock,
    name,
    isInProcess = false,
    progress,
    isProof = true,
    operationTimeout,
    pingInterval,
    pingTimeout,
    onStateChange,
  } = options;
  let awaySince: number | undefined;
  let closed = false;
  let nextPing: NodeJS.Timeout | undefined;
  let doubting: Promise<void> | undefined;
  let asked: Promise<void> | undefined;

  /** Rejects when `operation` has not settled after `milliseconds`, and calls `onLate` then. */
  const inTime = <T>(operation: Promise<T>, milliseconds: number, outcomeUnknown: boolean, onLate?: () => void): Promise<T> =>
    new Promise((resolve, reject) => {
      const fail = () => {
        reject(new StoreUnavailableError(`${name} did not answer within ${milliseconds} ms`, { outcomeUnknown, tooSlow: true }));
        onLate?.();
      };
      // An answer that arrived while this process was busy is read before `fail` runs.
      const timer = setTimeout(() => setImmediate(fail), milliseconds);
      operation.then(
        (result) => {
          clearTimeout(timer);
          resolve(result);
        },
        (error: unknown) => {
          clearTimeout(timer);
          reject(error);
        },
      );
    });

  /** An answer that comes late counts as well where it cannot get lost: the disk of a store in this process may be slower than a ping may be. */
  const ask = (): Promise<void> => {
    asked ??= options.ping().finally(() => {
      asked = undefined;
    });
    return asked;
  };

  const probe = async (): Promise<void> => {
    try {
      await (isInProcess ? ask() : inTime(options.ping(), pingTimeout, false));
    } catch {
      if (!closed) nextPing = setTimeout(probe, pingInterval).unref();
      return;
    }
    if (closed) return;
    const awayFor = clock.monotonic() - (awaySince ?? 0);
    awaySince = undefined;
    onStateChange?.("up", { awayFor });
  };

  const trip: Circuit["trip"] = (cause) => {
    if (awaySince !== undefined || closed) return;
    awaySince = clock.monotonic();
    onStateChange?.("away", { cause });
    void probe();
  };

  /** Settles when it is known whether it is away: at once when that is known already. */
  const doubt = async (cause: StoreUnavailableError): Promise<void> => {
    if (awaySince !== undefined) return;
    // The ping stands in line behind what a slow disk is at; that this comes to an end is an answer, too.
    const answer = () => (isInProcess ? Promise.any([ask(), ...(progress ? [progress()] : [])]) : options.ping());
    doubting ??= inTime(answer(), pingTimeout, false)
      .catch(() => trip(cause))
      .finally(() => {
        doubting = undefined;
      });
    await doubting;
  };

  return {
    refuseWhileAway: () => {
      if (awaySince !== undefined) throw new StoreUnavailableError(`${name} is away`);
    },
    timed: async (kind, operation, onLate) => {
      let isSilent = false;
      const late = (): void => {
        isSilent = true;
        onLate?.();
      };
      try {
        return await inTime(operation(), operationTimeout, kind === "write", late);
      } catch (error) {
        if (error instanceof StoreUnavailableError) {
          if (isProof && !error.tooSlow) trip(error);
          else if (isSilent || !isInProcess) await doubt(error);
        }
        throw error;
      }
    },
    trip,
    state: () => (awaySince === undefined ? "up" : "away"),
    close: () => {
      closed = true;
      clearTimeout(nextPing);
    },
  };
};
