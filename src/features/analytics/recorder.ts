import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../platform/base/clock.ts";
import { isTrouble } from "./engineErrors.ts";

/** Events become visible this often while there are any. */
const FLUSH_EVERY_MS = 1_000;
/** Rows of one insert. Few and large ones: each makes six parts, which costs the engine as much as 10,000 rows. */
const BATCH = 25_000;
/** Bytes of the rows of one insert; more only for a single row that is larger. */
const BATCH_BYTES = 6 * 1024 ** 2;
/** Of blocks that were written, as many are kept to be filled again. */
const SPARE_BLOCKS = 2;
/** UTF-8 needs at most as many bytes for a code unit. */
const BYTES_PER_UNIT = 3;
const NEWLINE = 10;
const RETRY_AFTER_MS = 500;
const LONGEST_RETRY = 10;
/** An insert that the engine refuses for its content so often is given up. */
const REFUSALS = 5;
/** What stopping waits for the last inserts. */
const STOP_MS = 8_000;

/** Writes rows, a line each; `token` is the same for every try of the same rows, so that they count once. */
export type Insert = (rows: Buffer, token: string) => Promise<void>;

export interface RecorderOptions<E> {
  readonly clock: Clock;
  /** What is held at most, that under way included; further events are dropped. */
  readonly capacity: { readonly events: number; readonly bytes: number };
  /** The row of an event as JSON. @param seq counts the events from 1: those that are left out were dropped. */
  readonly serialise: (event: E, seq: number) => string;
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

/** Rows that one insert writes. */
interface Batch {
  readonly block: Buffer;
  bytes: number;
  rows: number;
}

/**
 * Takes events off the path of calls into the tables (analytics §6). Each is put down as its row at once, in a block of
 * memory: a row costs a microsecond, and an object that lives until the next insert costs the collector twice that.
 * Inserts follow each other, so the events of one node become visible in order; one that failed is tried again under the
 * same token until the engine has it.
 */
export const createRecorder = <E>(options: RecorderOptions<E>): Recorder<E> => {
  const { clock, capacity, serialise, insert, onDrop, onInsert, onFailure, retryAfterMs = RETRY_AFTER_MS, stopMs = STOP_MS } = options;
  const spare: Buffer[] = [];
  const sealed: Batch[] = [];
  let open: Batch | undefined;
  let rows = 0;
  let bytes = 0;
  let seq = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  /** What was not written by then is dropped. */
  const stopped = new AbortController();

  const seal = (): void => {
    if (open) sealed.push(open);
    open = undefined;
  };

  /** A batch with room for so many bytes. */
  const batchFor = (needed: number): Batch => {
    if (open && (open.rows >= BATCH || open.bytes + needed > open.block.length)) seal();
    open ??= {
      block: needed > BATCH_BYTES ? Buffer.allocUnsafe(needed) : (spare.pop() ?? Buffer.allocUnsafe(BATCH_BYTES)),
      bytes: 0,
      rows: 0,
    };
    return open;
  };

  /** @returns false when stopping came first: the batch is still held. */
  const write = async (batch: Batch): Promise<boolean> => {
    const token = randomUUID();
    const content = batch.block.subarray(0, batch.bytes);
    let refusals = 0;
    for (let pause = retryAfterMs; !stopped.signal.aborted; pause = Math.min(LONGEST_RETRY * retryAfterMs, pause * 2)) {
      const startedAt = clock.monotonic();
      try {
        await insert(content, token);
        onInsert(batch.rows, clock.monotonic() - startedAt);
        return true;
      } catch (error) {
        onFailure(error);
        if (!isTrouble(error) && ++refusals >= REFUSALS) {
          onDrop(batch.rows, error);
          return true;
        }
        await sleep(pause, undefined, { signal: stopped.signal }).catch(() => undefined);
      }
    }
    return false;
  };

  const writeAll = async (): Promise<void> => {
    for (;;) {
      if (sealed.length === 0) seal();
      const [batch] = sealed;
      if (!batch || !(await write(batch))) return;
      sealed.shift();
      rows -= batch.rows;
      bytes -= batch.bytes;
      if (batch.block.length === BATCH_BYTES && spare.length < SPARE_BLOCKS) spare.push(batch.block);
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
      // Also of what is dropped: the gap that it leaves tells those who follow.
      seq++;
      if (rows >= capacity.events || bytes >= capacity.bytes) {
        onDrop(1);
        return;
      }
      const text = serialise(event, seq);
      const batch = batchFor(text.length * BYTES_PER_UNIT + 1);
      let end = batch.bytes + batch.block.write(text, batch.bytes);
      batch.block[end++] = NEWLINE;
      bytes += end - batch.bytes;
      batch.bytes = end;
      batch.rows++;
      rows++;
    },
    size: () => rows,
    start: () => {
      timer = setInterval(() => {
        if (rows > 0) void flush();
      }, FLUSH_EVERY_MS);
    },
    stop: async () => {
      clearInterval(timer);
      const late = sleep(stopMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
      await Promise.race([flush().then(() => (rows > 0 ? flush() : undefined)), late]);
      stopped.abort();
      if (rows > 0) onDrop(rows);
    },
  };
};
