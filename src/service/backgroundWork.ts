import type { BackgroundTask } from "../platform/telemetry/events.ts";
import { runAll } from "./runAll.ts";

/**
 * What each part may take to stop, in milliseconds. Most give themselves less; times of last use that are not written by then
 * are lost, and rate limit budget that is not given back stays charged, as after a crash.
 */
const STOP_WITHIN_MS = 10_000;

/** Something that runs beside the calls for as long as the service does. */
export interface BackgroundPart {
  /** As the log says it. */
  readonly name: BackgroundTask;
  /** One that rejects has nothing to stop. */
  readonly start: () => void | Promise<void>;
  /** Finishes what it holds. @param signal aborted when the time for that is over: nothing waits for it any more. */
  readonly stop: (signal: AbortSignal) => Promise<void>;
}

export interface BackgroundWork {
  /**
   * Starts the parts in their order. When one of them cannot start, those before it are stopped, and its error is thrown; once
   * `signal` is aborted no further one starts, and the signal's reason is thrown.
   */
  readonly start: (signal: AbortSignal) => Promise<void>;
  /** Stops what has started, in reverse order. Rejects at the end if a part failed, as `runAll` does. */
  readonly stop: () => Promise<void>;
}

export interface BackgroundWorkOptions {
  /** Hears of a part that has not stopped in its time; the next one is stopped then. */
  readonly onLate: (name: BackgroundTask, milliseconds: number) => void;
  /** What each part may take to stop, in milliseconds; 10 s unless told. */
  readonly stopWithin?: number;
}

/** Everything that runs in the background, as one list: its order is that of the start, its reverse that of the stop. */
export const createBackgroundWork = (
  parts: readonly BackgroundPart[],
  { onLate, stopWithin = STOP_WITHIN_MS }: BackgroundWorkOptions,
): BackgroundWork => {
  const started: BackgroundPart[] = [];

  const stopInTime = async ({ name, stop }: BackgroundPart): Promise<void> => {
    const late = new AbortController();
    const passed = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      late.abort(new Error(`${name} did not stop in time`));
      passed.resolve();
    }, stopWithin);
    const stopped = Promise.try(stop, late.signal);
    try {
      await Promise.race([stopped, passed.promise]);
    } finally {
      clearTimeout(timer);
    }
    if (!late.signal.aborted) return;
    onLate(name, stopWithin);
    stopped.catch(() => undefined);
  };

  const stop = (): Promise<void> =>
    runAll(
      started
        .splice(0)
        .reverse()
        .map((part) => () => stopInTime(part)),
    );

  return {
    start: async (signal) => {
      for (const part of parts) {
        signal.throwIfAborted();
        started.push(part);
        try {
          await part.start();
        } catch (error) {
          started.pop();
          await runAll([() => Promise.reject(error), stop]);
        }
      }
    },
    stop,
  };
};
