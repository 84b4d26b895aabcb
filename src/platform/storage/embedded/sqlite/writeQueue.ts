import type { Worker } from "node:worker_threads";
import { type Clock, systemClock } from "../../../base/clock.ts";
import { DuplicateKeyError, StoreUnavailableError } from "../../port/errors.ts";
import type { StoreLog } from "../../port/storeLog.ts";
import { gatherForGroupCommit } from "./gatherForGroupCommit.ts";
import type { ToWriter, WriteOperation, WriteResult, WriterReply, WriterSettings } from "./messages.ts";
import { damagedPart } from "./sqliteErrors.ts";
import { type WriterThreads, writerThreads } from "./writerThreads.ts";

/** Bounds how long a transaction runs, and how much memory its message takes. */
const BATCH = 1000;
/** Slow commits are only counted for so long after they were told of, in milliseconds. */
const TELL_SLOW_EVERY = 60_000;

export interface WriteQueueOptions {
  readonly clock?: Pick<Clock, "monotonic">;
  readonly log?: StoreLog | undefined;
  readonly onCommit?: () => void;
  /** Instead of those of this process. */
  readonly threads?: WriterThreads;
}

interface Waiting {
  readonly operation: WriteOperation;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: unknown) => void;
}

export interface WriteQueue {
  /**
   * Resolves once the operation is on disk. Rejects with `DuplicateKeyError`, with `StoreUnavailableError`, with
   * `StoreDamagedError` when it met a damaged part of the file, with the signal's reason when that was aborted before the operation was sent, and with a `TypeError` for what no store accepts.
   */
  write(operation: WriteOperation, signal?: AbortSignal): Promise<WriteResult>;
  /** Writes what waits, then closes the file. */
  close(): Promise<void>;
}

const settle = (file: string, { resolve, reject }: Waiting, result: WriteResult | undefined): void => {
  if (result === undefined) reject(new StoreUnavailableError("the writer gave no result", { outcomeUnknown: true }));
  else if (result.failure === undefined) resolve(result);
  else if ("duplicateIn" in result.failure) reject(new DuplicateKeyError(result.failure.duplicateIn));
  else if ("damaged" in result.failure) reject(damagedPart(file, result.failure.damaged));
  else reject(new TypeError(result.failure.refused));
};

/**
 * Sends writes to the writer thread. Those of one turn of the event loop, and all that come while it commits, share
 * the next commit. A thread that died is started again by the next write.
 * `onCommit` hears of each commit.
 */
export const createWriteQueue = (
  settings: WriterSettings,
  { clock = systemClock, log, onCommit, threads = writerThreads }: WriteQueueOptions = {},
): WriteQueue => {
  const waiting: Waiting[] = [];
  let running: readonly Waiting[] | undefined;
  let worker: Worker | undefined;
  let scheduled = false;
  /** Members of the latest commit. */
  let lastGroup = 1;
  let closed = false;
  let idle: (() => void) | undefined;
  let closing: Promise<void> | undefined;
  /** Once the file is closed, or the thread is dead. */
  let ended: (() => void) | undefined;
  let slowCommits = 0;
  let slowToldAt = Number.NEGATIVE_INFINITY;

  const tellSlow = (milliseconds: number): void => {
    slowCommits++;
    const now = clock.monotonic();
    if (now - slowToldAt < TELL_SLOW_EVERY) return;
    log?.warn({ milliseconds: Math.round(milliseconds), slowCommits }, "the embedded store's disk takes long to commit");
    slowToldAt = now;
    slowCommits = 0;
  };

  const finish = (conclude: (member: Waiting, position: number) => void): void => {
    const members = running ?? [];
    running = undefined;
    members.forEach(conclude);
    if (waiting.length > 0) schedule();
    else pump();
  };

  const post = (to: Worker, message: ToWriter): void => to.postMessage(message);

  const start = (): Worker => {
    const started = threads.take();
    let cause: unknown;
    const onMessage = (reply: WriterReply): void => {
      if (reply === "closed") {
        worker = undefined;
        started.off("message", onMessage).off("error", onError).off("exit", onExit);
        threads.giveBack(started);
        ended?.();
      } else if ("results" in reply) {
        onCommit?.();
        if (reply.slowMs !== undefined) tellSlow(reply.slowMs);
        finish((member, position) => settle(settings.file, member, reply.results[position]));
      } else {
        const { message, outcomeUnknown, tooSlow } = reply.unavailable;
        log?.warn({ reason: message, operations: running?.length }, "the embedded store could not commit");
        finish(({ reject }) =>
          reject(new StoreUnavailableError(`the embedded store cannot write: ${message}`, { outcomeUnknown, tooSlow })),
        );
      }
    };
    const onError = (error: unknown): void => {
      cause = error;
    };
    const onExit = (): void => {
      if (worker === started) worker = undefined;
      ended?.();
      if (running === undefined) return;
      log?.warn({ err: cause }, "the embedded store's writer died");
      const message = `the embedded store's writer died${cause instanceof Error ? `: ${cause.message}` : ""}`;
      finish(({ reject }) => reject(new StoreUnavailableError(message, { cause, outcomeUnknown: true })));
    };
    started.on("message", onMessage).on("error", onError).on("exit", onExit);
    post(started, { open: settings });
    return started;
  };

  const send = (members: readonly Waiting[]): void => {
    running = members;
    lastGroup = members.length;
    worker ??= start();
    worker.ref();
    try {
      post(
        worker,
        members.map(({ operation }) => operation),
      );
    } catch (error) {
      finish(({ reject }) => reject(error));
    }
  };

  const schedule = (): void => {
    scheduled = true;
    gatherForGroupCommit(
      () => waiting.length,
      () => {
        scheduled = false;
        pump();
      },
      lastGroup,
    );
  };

  const pump = (): void => {
    if (running !== undefined) return;
    const members: Waiting[] = [];
    while (members.length === 0 && waiting.length > 0) {
      for (const member of waiting.splice(0, BATCH)) {
        if (member.signal?.aborted) member.reject(member.signal.reason);
        else members.push(member);
      }
    }
    if (members.length > 0) {
      send(members);
      return;
    }
    worker?.unref();
    idle?.();
  };

  const close = async (): Promise<void> => {
    closed = true;
    if (running !== undefined || waiting.length > 0) {
      await new Promise<void>((resolve) => {
        idle = resolve;
      });
    }
    const last = worker;
    if (last === undefined) return;
    await new Promise<void>((resolve) => {
      ended = resolve;
      last.ref();
      post(last, "close");
    });
  };

  return {
    write: (operation, signal) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new StoreUnavailableError("the embedded store is closed"));
        waiting.push({ operation, signal, resolve, reject });
        if (!scheduled && running === undefined) schedule();
      }),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
};
