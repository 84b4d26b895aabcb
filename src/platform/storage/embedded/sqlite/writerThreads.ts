import { Worker } from "node:worker_threads";

/** Threads that are kept for later: a command has few stores open at once. */
const mostIdle = 8;

export interface WriterThreads {
  /** One that is alive and has no file open. */
  readonly take: () => Worker;
  /** For whoever takes one next. None of the giver's listeners may be there any more, and its file has to be closed. */
  readonly giveBack: (thread: Worker) => void;
}

/** A thread without a file has nothing to lose: that it died, for want of memory say, is no error of the process. */
const ignore = (): void => undefined;

/** Threads of `writer.ts`. To start one takes ten times as long as to open a file by one that is there. */
export const createWriterThreads = (): WriterThreads => {
  const idle = new Set<Worker>();
  const forget = function (this: Worker): void {
    idle.delete(this);
  };
  return {
    take: () => {
      const [thread] = idle;
      if (thread === undefined) return new Worker(new URL("./writer.ts", import.meta.url), { execArgv: [] });
      idle.delete(thread);
      return thread.off("error", ignore).off("exit", forget);
    },
    giveBack: (thread) => {
      thread.on("error", ignore).unref();
      if (idle.size === mostIdle) void thread.terminate();
      else idle.add(thread.on("exit", forget));
    },
  };
};

/** Those of this process. */
export const writerThreads: WriterThreads = createWriterThreads();
