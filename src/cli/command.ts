import type { Clock } from "../platform/base/clock.ts";
import type { LogLevel } from "../platform/config/loadConfig.ts";
import type { Log } from "../platform/telemetry/log.ts";
import type { WorkerChannel } from "../service/workers/workerChannel.ts";

/** The reason of a stop that no signal asked for: nothing is known of the state of the process any more. */
export const UNHANDLED_ERROR = "unhandled error";

/** The reason of a stop of workers that serve while another one cannot. */
export const CANNOT_START = "a worker cannot start";

/** What a command may touch of the process it runs in. Made by main; tests make their own. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prints a line for the user, on standard output. Resolves once it is out; rejects when it cannot be. */
  readonly print: (line: string) => Promise<void>;
  /** Prints a line on standard error. Never rejects. */
  readonly complain: (line: string) => Promise<void>;
  /** Everything that standard input has, as text. Rejects when that is more than any request may hold. */
  readonly readInput: () => Promise<string>;
  /**
   * Asks the person at the terminal, on standard error. Resolves to the line typed, to undefined at the end of input. Undefined
   * unless standard input and standard error are a terminal.
   */
  readonly ask?: ((question: string) => Promise<string | undefined>) | undefined;
  /** Replaces the line that it showed before on standard error; "" takes it away. Undefined unless that is a terminal. */
  readonly showProgress?: ((line: string) => void) | undefined;
  /** What is printed is shown at a terminal, perhaps the same. */
  readonly printsToTerminal: boolean;
  readonly clock: Clock;
  readonly nodeVersion: string;
  /** The structured log, on standard error. */
  readonly openLog: (level: LogLevel) => Log;
  /** Adds whole lines to that log: those of another process. */
  readonly writeLog: (lines: string) => void;
  /** From the call on, a signal to end is left to the command: resolves, with the signal's name or `UNHANDLED_ERROR`, at the first one. */
  readonly untilStopped: () => Promise<string>;
  /** From the call on, `listener` is called whenever a signal tells to read files again. */
  readonly onReload: (listener: () => void) => void;
  /** From the call on, `survive` gets each exception that nothing caught first; true means that the process continues. */
  readonly onUncaught: (survive: (error: unknown) => boolean) => void;
  /** Of a process that is a worker of another one, which started it; undefined elsewhere. */
  readonly worker?: WorkerChannel | undefined;
}

/** What a script can tell of the end of a command. */
export const exitCodes = {
  0: "done",
  1: "any other failure",
  2: "invalid usage, configuration or request; nothing was done",
  3: "the root key is unknown or lacks a permission",
  4: "not found: the request names something that does not exist",
  5: "conflict: something already exists, is protected, or is not set up",
  6: "over a limit of the service; try again later",
  7: "the service, or something it depends on, is unavailable",
  8: "the answer is no: the key is not valid, the limit is reached, or audit verify-chain found a fault",
} as const;

export type ExitCode = keyof typeof exitCodes;

export interface Command {
  /** The words after `latchkey`. */
  readonly name: string;
  /** Arguments and options, as `latchkey help` shows them. */
  readonly usage: string;
  readonly summary: string;
  /** @param args what stands behind the name. Throws `UsageError` when they make no sense. */
  readonly run: (args: readonly string[], context: CommandContext) => Promise<ExitCode>;
}

/** A command ends with this exit code. Its message is for the user. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;
  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
  }
}

/** The command line, or the configuration, cannot be followed. */
export class UsageError extends CommandFailure {
  constructor(message: string, options?: ErrorOptions) {
    super(2, message, options);
    this.name = "UsageError";
  }
}
