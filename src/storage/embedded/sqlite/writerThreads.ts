import { Worker } from "node:worker_threads";

/** One takes some 10 MB. */
const MOST_IDLE = 4;

/** Threads whose store was closed: the next one that is opened takes one of them, for to start one costs 60 ms of a core. */
const idle: Worker[] = [];

const forget = (thread: Worker): void => {
  const position = idle.indexOf(thread);
  if (position >= 0) idle.splice(position, 1);
};

/** A thread of `writer.ts` that has no store; as long as nobody refers to it, it keeps no process alive. */
export const takeWriter = (): Worker => idle.pop() ?? new Worker(new URL("./writer.ts", import.meta.url), { execArgv: [] });

/** @param thread has closed its store. */
export const giveBackWriter = async (thread: Worker): Promise<void> => {
  // Not all listeners: node has some of its own.
  for (const event of ["message", "error", "exit"]) thread.removeAllListeners(event);
  if (idle.length >= MOST_IDLE) {
    await thread.terminate();
    return;
  }
  thread.once("exit", () => forget(thread));
  thread.on("error", () => forget(thread));
  thread.unref();
  idle.push(thread);
};
