import type { ChildProcess } from "node:child_process";
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

/** By what node passes a connection to a worker. */
interface Passing {
  readonly act: string;
  readonly key: string;
}
interface Connection {
  readonly close: () => void;
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
 * The connection that was passed to a worker last, by the port's key. Node closes it once the worker has said that it has it, and forgets
 * it when the worker dies before: its client would wait for ever. Closing it twice does nothing.
 */
const rememberPassed = (child: ChildProcess): ReadonlyMap<string, Connection> => {
  const passed = new Map<string, Connection>();
  const send = child.send.bind(child) as (message: Partial<Passing>, connection?: Connection, ...rest: unknown[]) => boolean;
  const remembering: typeof send = (message, connection, ...rest) => {
    if (message.act === "newconn" && message.key !== undefined && connection !== undefined) passed.set(message.key, connection);
    return send(message, connection, ...rest);
  };
  child.send = remembering as typeof child.send;
  return passed;
};

/**
 * Starts a process that serves as a worker of this one. It gets its connections from this process, in turns: a port that
 * is taken is noticed, and what waits for a worker that ends goes to another one. A kernel that spreads them (`reusePort`)
 * spares some 90 µs of CPU for each connection, but gives all of a few to one worker every so often.
 */
export const forkWorker = ({ index, env, onMessage, onLog, onEnd }: ForkWorkerOptions): WorkerProcess => {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ exec: main, args: ["serve"], stdio: ["ignore", "inherit", "pipe", "ipc"] });
  const worker = cluster.fork({ ...env, [WORKER_VARIABLE]: String(index) });
  worker.on("message", onMessage);
  // Told of by its end.
  worker.on("error", () => undefined);

  const { process: child } = worker;
  const passed = rememberPassed(child);
  let rest = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    const text = rest + chunk;
    const end = text.lastIndexOf("\n") + 1;
    rest = text.slice(end);
    if (end > 0) onLog(text.slice(0, end));
  });
  child.once("close", (code: number | null, signal: string | null) => {
    for (const connection of passed.values()) connection.close();
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
