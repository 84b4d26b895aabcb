import { ServiceError } from "../domain/errors.ts";
import { version } from "../version.ts";
import { analyticsCommands } from "./analyticsCommands.ts";
import { apiCommands } from "./apiCommands.ts";
import { auditCommands } from "./auditCommands.ts";
import { type Command, type CommandContext, type ExitCode, UsageError } from "./command.ts";
import { doctor } from "./doctor.ts";
import { helpText } from "./help.ts";
import { migrationCommands } from "./migrationCommands.ts";
import { namespaceCommands } from "./namespaceCommands.ts";
import { repair } from "./repair.ts";
import { rootKeyCommands } from "./rootKeyCommands.ts";
import { serve } from "./serve.ts";

const commands: readonly Command[] = [
  serve,
  ...rootKeyCommands,
  ...apiCommands,
  ...migrationCommands,
  ...namespaceCommands,
  ...auditCommands,
  ...analyticsCommands,
  doctor,
  repair,
];

const find = (args: readonly string[]): { readonly command: Command; readonly rest: readonly string[] } => {
  for (const command of commands) {
    const words = command.name.split(" ");
    if (words.every((word, i) => args[i] === word)) return { command, rest: args.slice(words.length) };
  }
  throw new UsageError(args.length === 0 ? "no command was given" : `there is no command ${JSON.stringify(args.slice(0, 2).join(" "))}`);
};

/** Message and causes, without a stack: for the person at the terminal. */
const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== error.message
    ? `${error.message}: ${describe(error.cause)}`
    : error.message;
};

/** Runs one command. Problems go to standard error; see `ExitCode`. */
export const runCommandLine = async (args: readonly string[], context: CommandContext): Promise<ExitCode> => {
  const [first] = args;
  if (first === "help" || first === "--help" || first === "-h") {
    await context.print(helpText(commands));
    return 0;
  }
  if (first === "--version" && args.length === 1) {
    await context.print(version);
    return 0;
  }
  try {
    const { command, rest } = find(args);
    return await command.run(rest, context);
  } catch (error) {
    const isUsage = error instanceof UsageError || (error instanceof ServiceError && error.reason === "invalid_input");
    await context.complain(`latchkey: ${describe(error)}`);
    if (error instanceof UsageError) await context.complain("latchkey help shows commands and settings.");
    return isUsage ? 2 : 1;
  }
};
