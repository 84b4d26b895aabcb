import type { CommandContext, ExitCode } from "../../src/cli/command.ts";
import { runCommandLine } from "../../src/cli/runCommandLine.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { createLog } from "../../src/platform/telemetry/log.ts";
import { type Output, type RunningService, readRootKey, type Started, startedIn } from "./latchkeyProcess.ts";

interface CommandRun {
  readonly context: CommandContext;
  /** So far. */
  readonly output: Output;
}

/** Standard input of the command. */
export interface CommandInput {
  /** Where standard input is no terminal. */
  readonly text?: string;
  /** Lines that a person types at a terminal, one for each question; the end of input comes after them. */
  readonly typed?: readonly string[];
}

/** A context for commands that run in this process, and what they print. @param told at every piece of output. */
const createContext = (
  env: Readonly<Record<string, string>>,
  untilStopped: Promise<string>,
  told = (_: Output): void => undefined,
  { text = "", typed }: CommandInput = {},
): CommandRun => {
  const answers = typed && [...typed];
  const output = { stdout: "", stderr: "" };
  const write = (stream: keyof Output, piece: string): void => {
    output[stream] += piece;
    told(output);
  };
  const context: CommandContext = {
    env,
    print: async (line) => write("stdout", `${line}\n`),
    complain: async (line) => write("stderr", `${line}\n`),
    readInput: async () => text,
    ask:
      answers &&
      (async (question) => {
        write("stderr", `${question}\n`);
        return answers.shift();
      }),
    printsToTerminal: false,
    clock: systemClock,
    nodeVersion: process.version,
    openLog: (level) => createLog(level, { write: (line) => write("stderr", line) }),
    writeLog: (lines) => write("stderr", lines),
    untilStopped: () => untilStopped,
    onReload: () => undefined,
    onUncaught: () => undefined,
  };
  return { context, output };
};

/** A context for a command that is run by itself and never told to stop. */
export const withCommandContext = (env: Readonly<Record<string, string>>): CommandRun => createContext(env, new Promise(() => undefined));

/** Runs `latchkey <args>` to its end in this process, where it is never told to stop. @param input a text where there is no terminal. */
export const runLatchkeyHere = async (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input: string | CommandInput = "",
): Promise<Output & { readonly code: ExitCode }> => {
  const { context, output } = createContext(
    env,
    new Promise(() => undefined),
    undefined,
    typeof input === "string" ? { text: input } : input,
  );
  return { code: await runCommandLine(args, context), ...output };
};

export interface CommandResult {
  readonly code: ExitCode;
  /** Lines on standard output. */
  readonly printed: readonly string[];
  /** Lines on standard error. */
  readonly complained: readonly string[];
}

const lines = (text: string): string[] => text.split("\n").slice(0, -1);

/** The same, line by line. */
export const runCommand = async (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input: string | CommandInput = "",
): Promise<CommandResult> => {
  const { code, stdout, stderr } = await runLatchkeyHere(args, env, input);
  return { code, printed: lines(stdout), complained: lines(stderr) };
};

interface ServeOptions {
  /** Of `serve`. */
  readonly args?: readonly string[];
  /** Settings beside the ports and `DATA_DIR`. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * `latchkey serve` in this process, on free ports, once it is ready; rejects when it ends before. Costs a sixth of a process of
 * its own (`startService`), which only tests of signals, exits and kills need.
 */
export const serveHere = async (dataDir: string, { args = [], env = {} }: ServeOptions = {}): Promise<RunningService> => {
  const signal = Promise.withResolvers<string>();
  const { promise: started, resolve, reject } = Promise.withResolvers<Started>();
  const settings = { PORT: "0", ADMIN_PORT: "0", DATA_DIR: dataDir, ANALYTICS: "off", ...env };
  const { context, output } = createContext(settings, signal.promise, (soFar) => {
    const found = startedIn(soFar);
    if (found) resolve(found);
  });
  const exited = runCommandLine(["serve", ...args], context);
  exited.then((code) => reject(new Error(`the service ended with ${code}:\n${output.stderr}`)), reject);
  const stop = (): Promise<number> => {
    signal.resolve("SIGTERM");
    return exited;
  };
  return {
    ...(await started),
    dataDir,
    output,
    rootKey: () => readRootKey(dataDir),
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
};
