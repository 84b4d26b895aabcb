import cluster from "node:cluster";
import { join } from "node:path";
import type { ToPrimary, ToWorker } from "./messages.ts";
import { WORKER_VARIABLE } from "./workerVariable.ts";

const main = join(import.meta.dirname, "../../main.ts");

/** How a worker process ended: one of the two. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface WorkerProcess {
  /** To one that has ended it is lost. */
  readonly send: (message: ToWorker) => void;
  /** Ends it at once. */
  readonly kill: () => void;
}

export interface ForkWorkerOptions {
  /** From 1; what the log calls it. */
  readonly index: number;
  /** Settings that it has beside, or instead of, those of this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly onMessage: (message: ToPrimary) => void;
  /** Called with whole lines of its standard error. */
  readonly onLog: (lines: string) => void;
  /** Called once, when it has ended and nothing more comes of it. */
  readonly onEnd: (end: WorkerEnd) => void;
}

/**
 * Starts a process that serves as a worker of this one. It gets its connections from this process, in turns: a port that
 * is taken is noticed, and what waits for a worker that ends goes to another one. A kernel that spreads them (`reusePort`)
 * spares some 90 µs of CPU for each connection, but gives all of a few to one worker every so often.
 */
export const forkWorker = ({ index, env, onMessage, onLog, onEnd }: ForkWorkerOptions): WorkerProcess => {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ exec: main, args: ["serve"], stdio: ["ignore", "inherit", "pipe", "ipc"], serialization: "advanced" });
  const worker = cluster.fork({ ...env, [WORKER_VARIABLE]: String(index) });
  worker.on("message", onMessage);
  // Told of by its end.
  worker.on("error", () => undefined);

  const { process: child } = worker;
  let rest = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    const text = rest + chunk;
    const end = text.lastIndexOf("\n") + 1;
    rest = text.slice(end);
    if (end > 0) onLog(text.slice(0, end));
  });
  child.once("close", (code: number | null, signal: string | null) => {
    if (rest !== "") onLog(`${rest}\n`);
    onEnd({ code, signal });
  });
  return {
    send: (message) => {
      if (worker.isConnected()) worker.send(message, undefined, () => undefined);
    },
    kill: () => void child.kill("SIGKILL"),
  };
};
