#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { isatty } from "node:tty";
import type { CommandContext } from "./cli/command.ts";
import type { Events } from "./platform/telemetry/events.ts";

/** The command line: the only file that touches the process itself. */

/** What a signal does to a process that does not handle it, by its number as shells say it. The kernel spares the first of a container. */
const endBySignal = { SIGINT: () => process.exit(130), SIGTERM: () => process.exit(143) } as const;
if (process.pid === 1) for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, endBySignal[signal]);

// What was compiled stays compiled: later starts take half the time and 20 MB less. The variable reaches worker threads.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "../node_modules/.cache/latchkey");
enableCompileCache(process.env.NODE_COMPILE_CACHE);

// Static imports would be compiled before the cache is on.
const { askLine } = await import("./cli/askLine.ts");
const { UNHANDLED_ERROR } = await import("./cli/command.ts");
const { createLineWriter } = await import("./cli/lineWriter.ts");
const { runCommandLine } = await import("./cli/runCommandLine.ts");
const { systemClock } = await import("./platform/base/clock.ts");
const { openWorkerChannel } = await import("./service/workers/workerChannel.ts");
const { WORKER_VARIABLE } = await import("./service/workers/workerVariable.ts");
const { createEvents } = await import("./platform/telemetry/events.ts");
const { createLog, standardError } = await import("./platform/telemetry/log.ts");

/** After an unhandled error, running calls get this long to end. Milliseconds. */
const CRASH_GRACE_MS = 10_000;

const logDestination = standardError();
let events: Events | undefined;
let crashed = false;
let survive: (error: unknown) => boolean = () => false;

/** The largest standard input, in bytes: no request may hold more. */
const MOST_INPUT = 64 * 1024 * 1024;

const readInput = async (): Promise<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MOST_INPUT) throw new Error("standard input is larger than any request may be");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

/** Ends the process with everything logged. */
const exit = (code: number): never => {
  try {
    logDestination.flushSync();
  } catch {
    // Nobody reads standard error any more.
  }
  process.exit(code);
};

/** Undefined in a service of one process. */
const workerIndex = process.env[WORKER_VARIABLE];
const worker = workerIndex === undefined ? undefined : openWorkerChannel();

const stop = Promise.withResolvers<string>();
void worker?.untilStopped.then(stop.resolve);
const complain = createLineWriter(process.stderr, "standard error");

const context: CommandContext = {
  env: process.env,
  print: createLineWriter(process.stdout, "standard output"),
  // Nobody is left to be told.
  complain: worker?.complain ?? ((line) => complain(line).catch(() => undefined)),
  readInput,
  // Without a look at `process.stdin`, which opens it.
  ask: isatty(0) && isatty(2) ? (question) => askLine(process.stdin, process.stderr, question) : undefined,
  // Back to the beginning of the line, and whatever stands there goes.
  showProgress: process.stderr.isTTY ? (line) => void process.stderr.write(`\r\u001b[K${line}`) : undefined,
  printsToTerminal: process.stdout.isTTY,
  clock: systemClock,
  nodeVersion: process.version,
  openLog: (level) => {
    const plain = createLog(level, logDestination);
    const log = worker === undefined ? plain : plain.child({ worker: Number(workerIndex) });
    events = createEvents(log);
    return log;
  },
  writeLog: (lines) => void logDestination.write(lines),
  untilStopped: () => {
    let asked = false;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.off(signal, endBySignal[signal]);
      process.on(signal, () => {
        // A terminal, or whoever ends a group of processes, tells a worker beside its primary.
        if (asked && worker === undefined) exit(1);
        asked = true;
        stop.resolve(signal);
      });
    }
    return stop.promise;
  },
  onReload: (listener) => {
    // The same for this one.
    process.on("SIGHUP", worker ? () => undefined : listener);
    worker?.onReload(listener);
  },
  onUncaught: (survivor) => {
    survive = survivor;
  },
  worker,
};

const onUnhandled = (error: unknown): void => {
  if (survive(error)) return;
  if (events === undefined) {
    console.error(error);
    exit(1);
  }
  events?.crashed(error);
  if (crashed) return;
  crashed = true;
  stop.resolve(UNHANDLED_ERROR);
  setTimeout(() => exit(1), CRASH_GRACE_MS).unref();
};
process.on("uncaughtException", onUnhandled);
process.on("unhandledRejection", onUnhandled);

const code = await runCommandLine(process.argv.slice(2), context);
exit(crashed ? 1 : code);
