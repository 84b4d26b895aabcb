import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../domain/clock.ts";
import { isTrouble } from "./engineErrors.ts";

/** Events become visible this often while there are any. */
const FLUSH_EVERY_MS = 1_000;
/** Rows of one insert, and the length of their text: tags make some of them a thousand times as long as others. */
const BATCH = 10_000;
const BATCH_CHARACTERS = 8 * 1024 ** 2;
/** Rows that are serialised between two turns of the event loop: some 0.3 ms. */
const SLICE = 200;
const RETRY_AFTER_MS = 500;
const LONGEST_RETRY = 10;
/** An insert that the engine refuses for its content so often is given up. */
const REFUSALS = 5;
/** What stopping waits for the last inserts. */
const STOP_MS = 8_000;

/** Writes serialised rows; `token` is the same for every try of the same rows, so that they count once. */
export type Insert = (rows: string, token: string) => Promise<void>;

export interface RecorderOptions<E> {
  readonly clock: Clock;
  /** Events that are held at most, those under way included; further ones are dropped. */
  readonly capacity: number;
  /** The row of an event as JSON. */
  readonly serialise: (event: E) => string;
  readonly insert: Insert;
  /** Hears of events that will never be visible: there was no room, or the engine refused them. */
  readonly onDrop: (count: number, cause?: unknown) => void;
  readonly onInsert: (rows: number, milliseconds: number) => void;
  readonly onFailure: (error: unknown) => void;
  /** Pause after a first failure, ms; it doubles up to ten times itself. */
  readonly retryAfterMs?: number;
  /** What stopping waits for the last inserts, ms; 8 s unless given. */
  readonly stopMs?: number;
}

export interface Recorder<E> {
  /** Keeps the event for the next insert; does no more, and never fails. */
  readonly record: (event: E) => void;
  /** Events that are not written yet. */
  readonly size: () => number;
  readonly start: () => void;
  /** Resolves when everything recorded before was written or dropped, or after 8 s. */
  readonly stop: () => Promise<void>;
}

/**
 * Takes events off the path of calls into the tables (analytics §6). Inserts follow each other, so the events of one
 * node become visible in order; one that failed is tried again under the same token until the engine has it.
 */
export const createRecorder = <E>(options: RecorderOptions<E>): Recorder<E> => {
  const { clock, capacity, serialise, insert, onDrop, onInsert, onFailure, retryAfterMs = RETRY_AFTER_MS, stopMs = STOP_MS } = options;
  let waiting: E[] = [];
  let underWay = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  /** What was not written by then is dropped. */
  const stopped = new AbortController();

  /** The rows of events from `from` on, as many as one insert takes. */
  const toRows = async (events: readonly E[], from: number): Promise<{ readonly rows: string; readonly count: number }> => {
    let rows = "";
    let i = from;
    for (; i < events.length && rows.length < BATCH_CHARACTERS; i++) {
      if (i > from && i % SLICE === 0) await nextTurn();
      rows += `${serialise(events[i] as E)}\n`;
    }
    return { rows, count: i - from };
  };

  const write = async (rows: string, count: number): Promise<void> => {
    const token = randomUUID();
    let refusals = 0;
    for (let pause = retryAfterMs; !stopped.signal.aborted; pause = Math.min(LONGEST_RETRY * retryAfterMs, pause * 2)) {
      const startedAt = clock.monotonic();
      try {
        await insert(rows, token);
        onInsert(count, clock.monotonic() - startedAt);
        return;
      } catch (error) {
        onFailure(error);
        if (!isTrouble(error) && ++refusals >= REFUSALS) {
          onDrop(count, error);
          return;
        }
        await sleep(pause, undefined, { signal: stopped.signal }).catch(() => undefined);
      }
    }
  };

  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0 && !stopped.signal.aborted) {
      const events = waiting.length > BATCH ? waiting.splice(0, BATCH) : waiting;
      if (events === waiting) waiting = [];
      underWay = events.length;
      while (underWay > 0 && !stopped.signal.aborted) {
        const { rows, count } = await toRows(events, events.length - underWay);
        await write(rows, count);
        underWay -= count;
      }
    }
  };

  /** One run at a time; rejects never. */
  const flush = (): Promise<void> => {
    running ??= writeAll().finally(() => {
      running = undefined;
    });
    return running;
  };

  return {
    record: (event) => {
      if (waiting.length + underWay >= capacity) {
        onDrop(1);
        return;
      }
      waiting.push(event);
    },
    size: () => waiting.length + underWay,
    start: () => {
      timer = setInterval(() => {
        if (waiting.length > 0) void flush();
      }, FLUSH_EVERY_MS);
    },
    stop: async () => {
      clearInterval(timer);
      const late = sleep(stopMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
      await Promise.race([flush().then(() => (waiting.length > 0 ? flush() : undefined)), late]);
      stopped.abort();
      if (waiting.length + underWay > 0) onDrop(waiting.length + underWay);
    },
  };
};
