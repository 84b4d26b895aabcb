import type { CommandContext, ExitCode } from "../../src/cli/command.ts";
import { runCommandLine } from "../../src/cli/runCommandLine.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { createLog } from "../../src/telemetry/log.ts";

export interface CommandResult {
  readonly code: ExitCode;
  /** Lines on standard output. */
  readonly printed: readonly string[];
  /** Lines on standard error. */
  readonly complained: readonly string[];
}

/** Runs a command in this process; it is never told to stop. */
export const runCommand = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<CommandResult> => {
  const printed: string[] = [];
  const complained: string[] = [];
  const context: CommandContext = {
    env,
    print: async (text) => void printed.push(...text.split("\n")),
    complain: async (text) => void complained.push(...text.split("\n")),
    clock: systemClock,
    nodeVersion: process.version,
    openLog: (level) => createLog(level, { write: (line) => complained.push(line) }),
    untilStopped: () => new Promise(() => undefined),
    onReload: () => undefined,
  };
  return { code: await runCommandLine(args, context), printed, complained };
};
