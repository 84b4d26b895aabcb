import { Worker } from "node:worker_threads";

/** Threads that are kept for later: a command has few stores open at once. */
const mostIdle = 8;

export interface WriterThreads {
  /** One that has no file open. */
  readonly take: () => Worker;
  /** For whoever takes one next. None of its listeners may be there any more, and its file has to be closed. */
  readonly giveBack: (thread: Worker) => void;
}

/** Threads of `writer.ts`. To start one takes ten times as long as to open a file by one that is there. */
export const createWriterThreads = (): WriterThreads => {
  const idle: Worker[] = [];
  return {
    take: () => idle.pop() ?? new Worker(new URL("./writer.ts", import.meta.url), { execArgv: [] }),
    giveBack: (thread) => {
      thread.unref();
      if (idle.length === mostIdle) void thread.terminate();
      else idle.push(thread);
    },
  };
};

/** Those of this process. */
export const writerThreads: WriterThreads = createWriterThreads();
