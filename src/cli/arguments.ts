import { type ParseArgsConfig, parseArgs } from "node:util";
import { UsageError } from "./command.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<O extends Options> = ReturnType<typeof parseArgs<{ args: string[]; options: O; allowPositionals: true; strict: true }>>;

/**
 * Splits arguments into options and exactly `positionals` other words, named for the message.
 * Throws `UsageError` for an unknown option, a missing value, or another number of words.
 */
export const readArguments = <O extends Options>(args: readonly string[], options: O, ...positionals: readonly string[]): Parsed<O> => {
  const parsed = parse(args, options);
  const extra = parsed.positionals[positionals.length];
  if (extra !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(extra)}`);
  const missing = positionals[parsed.positionals.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing`);
  return parsed;
};

const parse = <O extends Options>(args: readonly string[], options: O): Parsed<O> => {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
};
