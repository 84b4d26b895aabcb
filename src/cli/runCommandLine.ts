import { reasons, ServiceError } from "../platform/base/errors.ts";
import { version } from "../platform/config/version.ts";
import { type Command, type CommandContext, CommandFailure, type ExitCode, UsageError } from "./command.ts";
import { commandLines, helpText } from "./help.ts";
import { ownCommands } from "./ownCommands.ts";
import { findProcedure, namespaces } from "./remote/procedureCommands.ts";
import { commonOptions, namespaceHelp, procedureHelp, procedureLines } from "./remote/procedureHelp.ts";
import { runProcedure } from "./remote/runProcedure.ts";

const findOwn = (args: readonly string[]): Command | undefined =>
  ownCommands.find(({ name }) => name.split(" ").every((word, i) => args[i] === word));

const noCommand = (args: readonly string[], others: string): UsageError =>
  new UsageError(args.length === 0 ? "no command was given" : `there is no command ${JSON.stringify(args.slice(0, 2).join(" "))}${others}`);

const help = async (about: readonly string[], context: CommandContext): Promise<ExitCode> => {
  const [first] = about;
  if (first === undefined) {
    await context.print(helpText(ownCommands, procedureLines(), commonOptions));
    return 0;
  }
  const called = findProcedure(about);
  const own = ownCommands.filter(({ name }) => `${name} `.startsWith(`${about.join(" ")} `)).flatMap(commandLines);
  const lines = called === undefined ? [...own, ...(about.length === 1 ? namespaceHelp(first) : [])] : [procedureHelp(called.found)];
  if (lines.length === 0) throw noCommand(about, "");
  await context.print(lines.join("\n"));
  return 0;
};

const run = async (args: readonly string[], context: CommandContext): Promise<ExitCode> => {
  const own = findOwn(args);
  if (own !== undefined) {
    const rest = args.slice(own.name.split(" ").length);
    if (!rest.includes("--help") && !rest.includes("-h")) return own.run(rest, context);
    await context.print(commandLines(own).join("\n"));
    return 0;
  }
  if (args.length === 0) throw noCommand(args, "");
  const called = findProcedure(args);
  const [first = "", second = ""] = args;
  if (called === undefined && namespaces.includes(first) && second === "--help") return help([first], context);
  if (called === undefined) throw noCommand(args, namespaces.includes(first) ? `; latchkey help ${first} shows what there is` : "");
  return runProcedure(called.found, called.rest, context);
};

/** Message and causes, without a stack: for the person at the terminal. */
const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== "" && !error.message.includes(error.cause.message)
    ? `${error.message}: ${describe(error.cause)}`
    : error.message;
};

/** The same for what the store refuses as for the service's answer (`byStatus` in callService.ts). */
const exitCodeOf = (error: unknown): ExitCode => {
  if (error instanceof CommandFailure) return error.exitCode;
  if (!(error instanceof ServiceError)) return 1;
  return error.reason === "invalid_input" ? 2 : reasons[error.reason].class === "not_found" ? 4 : 1;
};

/** Runs one command. Problems go to standard error; see `ExitCode`. */
export const runCommandLine = async (args: readonly string[], context: CommandContext): Promise<ExitCode> => {
  const [first] = args;
  if (first === "--version" && args.length === 1) {
    await context.print(version);
    return 0;
  }
  try {
    if (first === "help" || first === "--help" || first === "-h") return await help(args.slice(1), context);
    return await run(args, context);
  } catch (error) {
    await context.complain(`latchkey: ${describe(error)}`);
    if (error instanceof UsageError) await context.complain("latchkey help shows commands and settings.");
    return exitCodeOf(error);
  }
};
