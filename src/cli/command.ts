import type { LogLevel } from "../config.ts";
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../telemetry/log.ts";

/** What a command may touch of the process it runs in. Made by main; tests make their own. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prints a line for the user, on standard output. Resolves once it is out; rejects when it cannot be. */
  readonly print: (line: string) => Promise<void>;
  /** Prints a line on standard error. Never rejects. */
  readonly complain: (line: string) => Promise<void>;
  /** Replaces the line that it showed before on standard error; "" takes it away. Undefined unless that is a terminal. */
  readonly showProgress?: ((line: string) => void) | undefined;
  /** What is printed is shown at a terminal, perhaps the same. */
  readonly printsToTerminal: boolean;
  readonly clock: Clock;
  readonly nodeVersion: string;
  /** The structured log, on standard error. */
  readonly openLog: (level: LogLevel) => Log;
  /** From the call on, a signal to end is left to the command: resolves, with the signal's name, at the first one. */
  readonly untilStopped: () => Promise<string>;
  /** From the call on, `listener` is called whenever a signal tells to read files again. */
  readonly onReload: (listener: () => void) => void;
}

/** 0 = done, 1 = failed, 2 = wrong usage or configuration, nothing was started. */
export type ExitCode = 0 | 1 | 2;

export interface Command {
  /** The words after `latchkey`. */
  readonly name: string;
  /** Arguments and options, as `latchkey help` shows them. */
  readonly usage: string;
  readonly summary: string;
  /** @param args what stands behind the name. Throws `UsageError` when they make no sense. */
  readonly run: (args: readonly string[], context: CommandContext) => Promise<ExitCode>;
}

/** The command line, or the configuration, cannot be followed. Its message is for the user. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}
